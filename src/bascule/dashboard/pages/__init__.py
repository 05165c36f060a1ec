"""Pages of the dashboard: templates, forms, assets, live events and the waterfall."""
