"""Pages of the dashboard: routes, templates, forms, static assets, live events (SSE) and the waterfall."""
