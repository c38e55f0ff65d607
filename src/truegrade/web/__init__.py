"""All that listens on a port: the grading service, the model server and the viewer, on Starlette and uvicorn.

    socket ──▶ port, connections (uvicorn; who may stay) ──▶ application (Starlette: routes; refusals as JSON)
           ──▶ service/ | viewer/ | model_server

What they share lies here: addresses, bodies within bounds, refusals, the start and the end.
"""
