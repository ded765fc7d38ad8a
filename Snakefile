# dpscale: how data-parallel training scales, measured and answered in one report.
# Each line below is a chapter; results go to results/<name>/, `name` being in the configuration.
#
#   snakemake                                        a laptop's lab (config/config.yaml)
#   snakemake --configfile config/lab.yaml           the lab on GPUs
#   snakemake --profile slurm                        the lab on a cluster


report: "report/captions/workflow.rst"


include: "rules/configuration.smk"
include: "rules/machine.smk"
include: "rules/data.smk"
include: "rules/runs.smk"
include: "rules/audit.smk"
include: "rules/report.smk"
include: "rules/whole.smk"


rule all:
    default_target: True
    input:
        MADE,
        rules.check_report.output,
    message:
        f"The report: {RESULTS}/report.html and {RESULTS}/report.pdf"
