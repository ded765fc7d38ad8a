# From records to the report: tidy tables, derived tables, figures, answers, HTML and PDF.

TABLES = list(studies.schemas())
DERIVED = ["epoch_times", "quiet", "accuracy", *studies.names("derived")]
FIGURES = studies.names("figures")
TEMPLATES = sorted(
    str(BASE / "report" / path.name) for path in (HOME / "report").glob("*.*")
)
OF_PAGES = (".html.j2", ".css", ".js")
PAGES = [path for path in TEMPLATES if path.endswith(OF_PAGES)]
QUESTIONS = [path for path in TEMPLATES if not path.endswith(OF_PAGES)]


# Figures and answers are made side by side: a job less than cores, whose processes share all.
DRAWING = max(1, min(4, (workflow.resource_settings.cores or 5) - 1))


# To Snakemake a record among the inputs of `gather` would be one to read for each table, and to look
# for in the outputs of every other run: it is an input of a part, which says when it had its records.
RUNS_OF_A_PART = 500
PARTS = [
    list(PLAN)[start : start + RUNS_OF_A_PART]
    for start in range(0, max(len(PLAN), 1), RUNS_OF_A_PART)
]


rule recorded:
    input:
        lambda wildcards: gathered(int(wildcards.part)),
    output:
        f"{RESULTS}/logs/recorded-{{part}}.txt",
    log:
        f"{RESULTS}/logs/recorded-{{part}}.log",
    wildcard_constraints:
        part="|".join(map(str, range(len(PARTS)))),
    conda:
        ENVIRONMENT
    resources:
        machine=1,
    message:
        "Noting that the runs of part {wildcards.part} are recorded"
    shell:
        "date +%s%N > {output:q} 2> {log:q}"


rule gather:
    input:
        parts=expand(rules.recorded.output, part=range(len(PARTS))),
        modules=modules("gather"),
    output:
        expand(f"{RESULTS}/tables/{{table}}.parquet", table=TABLES),
        f"{RESULTS}/tables/provenance.json",
        f"{RESULTS}/tables/seen.json",
    log:
        f"{RESULTS}/logs/gather.log",
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        machine=1,
    params:
        config=lambda _: CONFIG_JSON,
        folder=lambda _: RESULTS,
    message:
        "Gathering the records into tidy tables"
    shell:
        command("gather") + "--config {params.config:q} "
        "--runs {params.folder}/runs --output {params.folder}/tables "
        "--processes {threads} 2>&1 | tee {log:q}"


rule derive:
    input:
        tables=rules.gather.output,
        modules=modules("derive"),
        lab=str(BASE / "config/lab.yaml"),
    output:
        expand(f"{RESULTS}/derived/{{table}}.csv", table=DERIVED),
    log:
        f"{RESULTS}/logs/derive.log",
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        machine=1,
    params:
        folder=lambda _: RESULTS,
    message:
        "Deriving times, speed-ups, bandwidths and accuracies"
    shell:
        command("derive")
        + "--tables {params.folder}/tables --output {params.folder}/derived "
        "--processes {threads} > {log:q} 2>&1"


rule draw:
    input:
        tables=rules.derive.output,
        modules=modules("draw"),
    output:
        report(
            expand(f"{RESULTS}/figures/{{figure}}.svg", figure=FIGURES),
            caption="../report/captions/figure.rst",
            category="Figures",
        ),
        expand(
            f"{RESULTS}/figures/{{figure}}.{{kind}}",
            figure=FIGURES,
            kind=["narrow.svg", "print.svg", "csv"],
        ),
    log:
        f"{RESULTS}/logs/draw.log",
    conda:
        ENVIRONMENT
    threads: DRAWING
    resources:
        machine=1,
    params:
        folder=lambda _: RESULTS,
    message:
        "Drawing the figures"
    shell:
        command("draw")
        + "--derived {params.folder}/derived --output {params.folder}/figures "
        "--processes $(({threads} + 1)) > {log:q} 2>&1"


rule answer:
    input:
        tables=rules.derive.output,
        modules=modules("answer"),
        templates=QUESTIONS,
    output:
        answers=f"{RESULTS}/answers.json",
        closing=f"{RESULTS}/closing.json",
    log:
        f"{RESULTS}/logs/answer.log",
    conda:
        ENVIRONMENT
    resources:
        machine=1,
    params:
        folder=lambda _: RESULTS,
    message:
        "Answering the questions"
    shell:
        command("answer") + "--tables {params.folder}/tables "
        "--derived {params.folder}/derived --output {output.answers:q} > {log:q} 2>&1"


rule render_html:
    input:
        answers=rules.answer.output.answers,
        closing=rules.answer.output.closing,
        audits=AUDITS,
        figures=rules.draw.output,
        modules=modules("render_html"),
        templates=PAGES,
    output:
        report(
            f"{RESULTS}/report.html",
            caption="../report/captions/report.rst",
            category="Report",
        ),
    log:
        f"{RESULTS}/logs/render_html.log",
    conda:
        ENVIRONMENT
    resources:
        machine=1,
    params:
        folder=lambda _: RESULTS,
        head=lambda _: CONFIG.report.model_dump_json(),
        templates=lambda _: BASE / "report",
    message:
        "Writing {output}"
    shell:
        command("render_html") + "--answers {input.answers} "
        "--tables {params.folder}/tables --derived {params.folder}/derived "
        "--figures {params.folder}/figures --audits {input.audits:q} "
        "--report-config {params.head:q} --templates {params.templates:q} "
        "--output {output:q} > {log:q} 2>&1"


# Not before the HTML, which needs no system library and comes out in any case.
rule render_pdf:
    input:
        answers=rules.answer.output.answers,
        closing=rules.answer.output.closing,
        audits=AUDITS,
        figures=rules.draw.output,
        modules=modules("render_pdf"),
        templates=PAGES,
    output:
        report(
            f"{RESULTS}/report.pdf",
            caption="../report/captions/report.rst",
            category="Report",
        ),
    log:
        f"{RESULTS}/logs/render_pdf.log",
    priority: -1
    conda:
        ENVIRONMENT
    resources:
        machine=1,
    params:
        folder=lambda _: RESULTS,
        head=lambda _: CONFIG.report.model_dump_json(),
        templates=lambda _: BASE / "report",
    message:
        "Writing {output}"
    shell:
        command("render_pdf") + "--answers {input.answers} "
        "--tables {params.folder}/tables --derived {params.folder}/derived "
        "--figures {params.folder}/figures --audits {input.audits:q} "
        "--report-config {params.head:q} --templates {params.templates:q} "
        "--output {output:q} > {log:q} 2>&1"


# The last job: fails where an answer or a figure did, once the report that says so is written. The
# files of a rule that fails are deleted, so it has none of them; without its own it is made anew.
rule check_report:
    input:
        html=rules.render_html.output,
        pdf=rules.render_pdf.output,
        answers=rules.answer.output.answers,
        closing=rules.answer.output.closing,
    output:
        f"{RESULTS}/logs/answered.txt",
    log:
        f"{RESULTS}/logs/check_report.log",
    conda:
        ENVIRONMENT
    resources:
        machine=1,
    params:
        folder=lambda _: RESULTS,
    message:
        "Checking that every answer and figure stands"
    shell:
        command("check_report") + "--answers {input.answers} "
        "--figures {params.folder}/figures --output {output:q} > {log:q} 2>&1"


localrules:
    check_report,


# The report on what has run so far; cells without a run say so. Takes no run as input, so that it
# never starts one, and writes beside the real report.
rule partial:
    input:
        audits=AUDITS,
    log:
        f"{RESULTS}/logs/partial.log",
    conda:
        ENVIRONMENT
    resources:
        machine=1,
    params:
        config=lambda _: CONFIG_JSON,
        head=lambda _: CONFIG.report.model_dump_json(),
        templates=lambda _: BASE / "report",
        runs=lambda _: f"{RESULTS}/runs",
        folder=lambda _: f"{RESULTS}/partial",
        scripts=lambda _: SCRIPTS,
    message:
        "Reporting on what has run so far, into {params.folder}"
    shell:
        "( python {params.scripts:q}/gather.py --config {params.config:q} "
        "--runs {params.runs} --output {params.folder}/tables && "
        "python {params.scripts:q}/derive.py --tables {params.folder}/tables "
        "--output {params.folder}/derived && "
        "python {params.scripts:q}/draw.py --derived {params.folder}/derived "
        "--output {params.folder}/figures && "
        "python {params.scripts:q}/answer.py --tables {params.folder}/tables "
        "--derived {params.folder}/derived --output {params.folder}/answers.json && "
        "for kind in html pdf; do python {params.scripts:q}/render_$kind.py "
        "--answers {params.folder}/answers.json --tables {params.folder}/tables "
        "--derived {params.folder}/derived --figures {params.folder}/figures "
        "--audits {input.audits:q} --report-config {params.head:q} "
        "--templates {params.templates:q} --output {params.folder}/report.$kind; done; "
        "python {params.scripts:q}/check_report.py --answers {params.folder}/answers.json "
        "--figures {params.folder}/figures ) 2>&1 | tee {log:q}"
