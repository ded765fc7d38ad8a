"""What workers send each other: gradients, messages, and the link that carries them."""
