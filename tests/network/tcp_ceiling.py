"""What one TCP connection carries over a link, measured without torch: `send IP` or `receive IP`.

The receiver prints bytes per second, counted from its first block on.
"""

import socket
import sys
import time

PORT = 9099
BLOCK_BYTES = 2**20
SECONDS = 3.0


def receive(address: str) -> None:
    with socket.create_server((address, PORT)) as server:
        connection, _ = server.accept()
        block, received = memoryview(bytearray(BLOCK_BYTES)), 0
        connection.recv_into(block)
        start = time.perf_counter()
        while size := connection.recv_into(block):
            received += size
        print(received / (time.perf_counter() - start))


def send(address: str) -> None:
    block = bytes(BLOCK_BYTES)
    while True:
        try:
            connection = socket.create_connection((address, PORT))
            break
        except ConnectionRefusedError:  # the receiver is not there yet
            time.sleep(0.1)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        connection.sendall(block)
    connection.close()


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]](sys.argv[2])
