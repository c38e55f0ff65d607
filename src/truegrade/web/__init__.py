"""What listens on a port: the grading service and the model server; the one HTTP layer, which the viewer uses too.

    socket ──▶ port, connections (uvicorn; who may stay) ──▶ application (Starlette: routes; refusals as JSON)
           ──▶ service/ | model_server | `truegrade view`

What they share lies here: addresses, bodies within bounds, refusals, the start and the end.
"""
