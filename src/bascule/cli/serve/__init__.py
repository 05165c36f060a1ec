"""`bascule serve` and `bascule up`: gateway over HTTP or stdio, its workers, dashboard and demo."""
