"""The grading service: the pipeline's graders and the jail behind HTTP, for trainers and other machines.

    request ──▶ grading_application (token, size, JSON) ──▶ workload (bounded queue, threads)
            ──▶ profile + sandbox ──▶ answer

What it promises: a request is either refused at once, with a reason, or answered completely; a program's verdict
never depends on its neighbours; the death of a jail's process costs a repetition and nothing else.
"""
