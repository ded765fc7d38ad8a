"""The works that the answers cite, one constant each."""

PATARASUK = (
    "P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of "
    "workstations, J. Parallel Distrib. Comput. 69 (2009) 117–124, "
    "doi:10.1016/j.jpdc.2008.09.002."
)
LI = (
    "S. Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training, "
    "Proc. VLDB Endow. 13 (2020) 3005–3018, doi:10.14778/3415478.3415530."
)
RAJBHANDARI = (
    "S. Rajbhandari, J. Rasley, O. Ruwase and Y. He, ZeRO: Memory Optimizations Toward Training "
    "Trillion Parameter Models, SC 2020, arXiv:1910.02054."
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
KINGMA = (
    "D. P. Kingma and J. Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, "
    "arXiv:1412.6980."
)
KRIZHEVSKY = (
    "A. Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014, "
    "arXiv:1404.5997."
)
MALLADI = (
    "S. Malladi, K. Lyu, A. Panigrahi and S. Arora, On the SDEs and Scaling Rules for Adaptive "
    "Gradient Algorithms, NeurIPS 2022, arXiv:2205.10287."
)
NVML = (
    "NVIDIA, NVML API Reference Guide, nvmlUtilization_t: percent of time over the past sample "
    "period during which one or more kernels was executing on the GPU."
)
CROSSBOW = (
    "A. Koliousis, P. Watcharapichat, M. Weidlich, L. Mai, P. Costa and P. Pietzuch, CROSSBOW: "
    "Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers, Proc. VLDB Endow. 12 "
    "(2019) 1399–1412, doi:10.14778/3342263.3342276."
)
SUTSKEVER = (
    "I. Sutskever, J. Martens, G. Dahl and G. Hinton, On the importance of initialization and "
    "momentum in deep learning, ICML 2013, PMLR 28(3) 1139–1147."
)
HE = (
    "K. He, X. Zhang, S. Ren and J. Sun, Deep Residual Learning for Image Recognition, "
    "CVPR 2016, doi:10.1109/CVPR.2016.90."
)
LIN = (
    "T. Lin, S. U. Stich, K. K. Patel and M. Jaggi, Don't Use Large Mini-Batches, Use Local SGD, "
    "ICLR 2020, arXiv:1808.07217."
)
ZHANG = (
    "C. Zhang, S. Bengio, M. Hardt, B. Recht and O. Vinyals, Understanding deep learning requires "
    "rethinking generalization, ICLR 2017, arXiv:1611.03530."
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
QIAO = (
    "A. Qiao, S. K. Choe, S. J. Subramanya, W. Neiswanger, Q. Ho, H. Zhang, G. R. Ganger and "
    "E. P. Xing, Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning, "
    "OSDI 2021, arXiv:2008.12260."
)
ZOU = (
    "G. Y. Zou and A. Donner, Construction of confidence limits about effect measures: A general "
    "approach, Statistics in Medicine 27 (2008) 1693–1702, doi:10.1002/sim.3095."
)
GASSER = (
    "T. Gasser, L. Sroka and C. Jennen-Steinmetz, Residual variance and residual pattern in "
    "nonlinear regression, Biometrika 73 (1986) 625–633, doi:10.1093/biomet/73.3.625."
)
POCOCK = (
    "S. J. Pocock, Group sequential methods in the design and analysis of clinical trials, "
    "Biometrika 64 (1977) 191–199, doi:10.1093/biomet/64.2.191."
)
JENNISON = (
    "C. Jennison and B. W. Turnbull, Interim analyses: the repeated confidence interval approach, "
    "J. R. Stat. Soc. B 51 (1989) 305–361, doi:10.1111/j.2517-6161.1989.tb01433.x."
)
