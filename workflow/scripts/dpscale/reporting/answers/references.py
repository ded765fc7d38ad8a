"""The works that the answers cite, one constant each."""

PATARASUK = (
    "P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of "
    "workstations, J. Parallel Distrib. Comput. 69 (2009) 117–124, "
    "doi:10.1016/j.jpdc.2008.09.002."
)
THAKUR = (
    "R. Thakur, R. Rabenseifner and W. Gropp, Optimization of Collective Communication "
    "Operations in MPICH, Int. J. High Perform. Comput. Appl. 19 (2005) 49–66, "
    "doi:10.1177/1094342005051521."
)
LI = (
    "S. Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training, "
    "Proc. VLDB Endow. 13 (2020) 3005–3018, doi:10.14778/3415478.3415530."
)
GOYAL = (
    "P. Goyal et al., Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour, 2017, "
    "arXiv:1706.02677."
)
KESKAR = (
    "N. S. Keskar, D. Mudigere, J. Nocedal, M. Smelyanskiy and P. T. P. Tang, On "
    "Large-Batch Training for Deep Learning: Generalization Gap and Sharp Minima, "
    "ICLR 2017, arXiv:1609.04836."
)
YOU = (
    "Y. You, I. Gitman and B. Ginsburg, Large Batch Training of Convolutional Networks, 2017, "
    "arXiv:1708.03888."
)
HOFFER = (
    "E. Hoffer, I. Hubara and D. Soudry, Train longer, generalize better: closing the "
    "generalization gap in large batch training of neural networks, NeurIPS 2017, "
    "arXiv:1705.08741."
)
PASZKE = (
    "A. Paszke et al., PyTorch: An Imperative Style, High-Performance Deep Learning "
    "Library, NeurIPS 2019, arXiv:1912.01703."
)
IOFFE = (
    "S. Ioffe and C. Szegedy, Batch Normalization: Accelerating Deep Network Training by "
    "Reducing Internal Covariate Shift, ICML 2015, arXiv:1502.03167."
)
AMDAHL = (
    "G. M. Amdahl, Validity of the single processor approach to achieving large scale "
    "computing capabilities, AFIPS Spring Joint Computer Conference 1967, 483–485, "
    "doi:10.1145/1465482.1465560."
)
GUSTAFSON = (
    "J. L. Gustafson, Reevaluating Amdahl's law, Commun. ACM 31 (1988) 532–533, "
    "doi:10.1145/42411.42415."
)
THAKUR = (
    "R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication "
    "operations in MPICH, Int. J. High Perform. Comput. Appl. 19 (2005) 49–66, "
    "doi:10.1177/1094342005051521."
)
VOGELS = (
    "T. Vogels, S. P. Karimireddy and M. Jaggi, PowerSGD: Practical Low-Rank Gradient "
    "Compression for Distributed Optimization, NeurIPS 2019, arXiv:1905.13727."
)
SHALLUE = (
    "C. J. Shallue, J. Lee, J. Antognini, J. Sohl-Dickstein, R. Frostig and G. E. Dahl, Measuring "
    "the Effects of Data Parallelism on Neural Network Training, J. Mach. Learn. Res. 20(112) "
    "(2019) 1–49, arXiv:1811.03600."
)
MCCANDLISH = (
    "S. McCandlish, J. Kaplan, D. Amodei and the OpenAI Dota Team, An Empirical Model of "
    "Large-Batch Training, 2018, arXiv:1812.06162."
)
BOUSQUET = (
    "O. Bousquet, S. Gelly, K. Kurach, O. Teytaud and D. Vincent, Critical Hyper-Parameters: No "
    "Random, No Cry, 2017, arXiv:1706.03200."
)
