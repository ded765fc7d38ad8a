# From records to the report: tidy tables, derived tables, figures, answers, HTML and PDF.

TABLES = list(studies.schemas())
DERIVED = ["epoch_times", "quiet", "accuracy", *studies.names("derived")]
FIGURES = studies.names("figures")
TEMPLATES = sorted(
    f"report/{path.name}" for path in Path(workflow.basedir, "report").glob("*.*")
)
OF_PAGES = (".html.j2", ".css", ".js")
PAGES = [path for path in TEMPLATES if path.endswith(OF_PAGES)]
QUESTIONS = [path for path in TEMPLATES if not path.endswith(OF_PAGES)]


def refuse_missing_words():
    """Before anything is measured: words that an answer may need at the end, and that are not there.

    They were, where the answers are newer than templates and modules.
    """
    answers = Path(RESULTS, "answers.json")
    made = answers.stat().st_mtime if answers.exists() else 0
    read = [*QUESTIONS, *modules("check_words")(None)]
    if any(os.path.getmtime(path) > made for path in read):
        command = [sys.executable, "workflow/scripts/check_words.py"]
        ended = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if ended.returncode:
            raise WorkflowError(ended.stderr)


rule gather:
    input:
        records=lambda _: gathered(),
        modules=modules("gather"),
    output:
        expand(f"{RESULTS}/tables/{{table}}.parquet", table=TABLES),
        f"{RESULTS}/tables/provenance.json",
        f"{RESULTS}/tables/seen.json",
    resources:
        machine=1,
    params:
        config=lambda _: CONFIG_JSON,
        folder=RESULTS,
    message:
        "Gathering the records into tidy tables"
    shell:
        "python workflow/scripts/gather.py --config {params.config:q} "
        "--runs {params.folder}/runs --output {params.folder}/tables"


rule derive:
    input:
        tables=rules.gather.output,
        modules=modules("derive"),
        lab=f"{workflow.basedir}/config/lab.yaml",
    output:
        expand(f"{RESULTS}/derived/{{table}}.csv", table=DERIVED),
    resources:
        machine=1,
    params:
        folder=RESULTS,
    message:
        "Deriving times, speed-ups, bandwidths and accuracies"
    shell:
        "python workflow/scripts/derive.py "
        "--tables {params.folder}/tables --output {params.folder}/derived"


rule draw:
    input:
        tables=rules.derive.output,
        modules=modules("draw"),
    output:
        expand(
            f"{RESULTS}/figures/{{figure}}.{{kind}}",
            figure=FIGURES,
            kind=["svg", "csv"],
        ),
    resources:
        machine=1,
    params:
        folder=RESULTS,
    message:
        "Drawing the figures"
    shell:
        "python workflow/scripts/draw.py "
        "--derived {params.folder}/derived --output {params.folder}/figures"


rule answer:
    input:
        tables=rules.derive.output,
        modules=modules("answer"),
        templates=QUESTIONS,
    output:
        answers=f"{RESULTS}/answers.json",
        closing=f"{RESULTS}/closing.json",
    resources:
        machine=1,
    params:
        folder=RESULTS,
    message:
        "Answering the questions"
    shell:
        "python workflow/scripts/answer.py --tables {params.folder}/tables "
        "--derived {params.folder}/derived --output {output.answers}"


rule render_html:
    input:
        answers=rules.answer.output.answers,
        closing=rules.answer.output.closing,
        audits=AUDITS,
        figures=rules.draw.output,
        modules=modules("render_html"),
        templates=PAGES,
    output:
        report(f"{RESULTS}/report.html", category="Report"),
    resources:
        machine=1,
    params:
        folder=RESULTS,
        head=lambda _: CONFIG.report.model_dump_json(),
    message:
        "Writing {output}"
    shell:
        "python workflow/scripts/render_html.py --answers {input.answers} "
        "--tables {params.folder}/tables --derived {params.folder}/derived "
        "--figures {params.folder}/figures --audits {input.audits:q} "
        "--report-config {params.head:q} --templates report --output {output}"


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
        report(f"{RESULTS}/report.pdf", category="Report"),
    priority: -1
    resources:
        machine=1,
    params:
        folder=RESULTS,
        head=lambda _: CONFIG.report.model_dump_json(),
    message:
        "Writing {output}"
    shell:
        "python workflow/scripts/render_pdf.py --answers {input.answers} "
        "--tables {params.folder}/tables --derived {params.folder}/derived "
        "--figures {params.folder}/figures --audits {input.audits:q} "
        "--report-config {params.head:q} --templates report --output {output}"


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
    resources:
        machine=1,
    params:
        folder=RESULTS,
    message:
        "Checking that every answer and figure stands"
    shell:
        "python workflow/scripts/check_report.py --answers {input.answers} "
        "--figures {params.folder}/figures --output {output}"


localrules:
    check_report,


# The report on what has run so far; cells without a run say so. Takes no run as input, so that it
# never starts one, and writes beside the real report.
rule partial:
    input:
        audits=AUDITS,
    resources:
        machine=1,
    params:
        config=lambda _: CONFIG_JSON,
        head=lambda _: CONFIG.report.model_dump_json(),
        runs=f"{RESULTS}/runs",
        folder=f"{RESULTS}/partial",
    message:
        "Reporting on what has run so far, into {params.folder}"
    shell:
        "python workflow/scripts/gather.py --config {params.config:q} --runs {params.runs} "
        "--output {params.folder}/tables && "
        "python workflow/scripts/derive.py --tables {params.folder}/tables "
        "--output {params.folder}/derived && "
        "python workflow/scripts/draw.py --derived {params.folder}/derived "
        "--output {params.folder}/figures && "
        "python workflow/scripts/answer.py --tables {params.folder}/tables "
        "--derived {params.folder}/derived --output {params.folder}/answers.json && "
        "for kind in html pdf; do python workflow/scripts/render_$kind.py "
        "--answers {params.folder}/answers.json --tables {params.folder}/tables "
        "--derived {params.folder}/derived --figures {params.folder}/figures --audits {input.audits:q} "
        "--report-config {params.head:q} --templates report "
        "--output {params.folder}/report.$kind; done; "
        "python workflow/scripts/check_report.py --answers {params.folder}/answers.json "
        "--figures {params.folder}/figures"
