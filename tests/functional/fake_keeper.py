# SPDX-License-Identifier: Apache-2.0
"""A fake Spare Cores keeper on the loopback interface, which lists servers and their prices."""
import urllib.parse

from fake_services import Service


def server(vendor, name, vcpus, gib, price, **others):
    """Returns a server in the format of the keeper, with only a few of its keys."""
    return {"vendor_id": vendor, "server_id": name, "name": name, "api_reference": name,
            "display_name": name, "vcpus": vcpus, "memory_amount": gib * 1024,
            "cpu_architecture": "x86_64", "gpu_count": 0, "gpu_memory_min": None,
            "gpu_memory_total": None, "gpu_manufacturer": None, "gpus": [], "storage_size": None,
            "min_price": price, "min_price_spot": price and price / 2, "min_price_ondemand": price,
            "vendor": {"vendor_id": vendor}, **others}


def gpus(count, gib, manufacturer="NVIDIA"):
    return {"gpu_count": count, "gpu_memory_min": gib * 1024, "gpu_memory_total": count * gib * 1024,
            "gpu_manufacturer": manufacturer}


SERVERS = [
    server("aws", "t3.nano", 2, 0.5, 0.0052),
    server("hcloud", "cax11", 2, 4, 0.0055, cpu_architecture="arm64"),
    server("hcloud", "cx22", 2, 4, 0.0060),
    server("aws", "m5.large", 2, 8, 0.0960),
    server("gcp", "n2-highmem-8", 8, 64, 0.5240),
    server("aws", "g4ad.xlarge", 4, 16, 0.3785, **gpus(1, 8, "AMD")),
    server("aws", "g4dn.xlarge", 4, 16, 0.5260, **gpus(1, 16)),
    server("aws", "p4d.24xlarge", 96, 1152, 32.7726, **gpus(8, 40)),
    server("azure", "unpriced", 4, 16, None),
]


def price(region, usd, allocation="ondemand", system="Linux", **others):
    return {"region_id": region, "allocation": allocation, "operating_system": system, "price": usd,
            "unit": "hour", "currency": "USD", **others}


class Keeper(Service):
    """If given, `answer_with` replaces every answer; see Service."""

    def __init__(self, answer_with=None, servers=SERVERS, prices=None):
        super().__init__()
        self.answer_with = answer_with
        self.servers = servers
        self.prices = prices or {}  # by "vendor/server"

    def answer(self, method, path, headers, body):
        url = urllib.parse.urlsplit(path)
        query = urllib.parse.parse_qs(url.query, strict_parsing=bool(url.query))
        if self.answer_with is not None:
            found = self.answer_with
        elif headers.get("X-Application-ID") != "resource-tracker":
            found = (403, {}, b"")
        elif url.path == "/servers":
            found = self.find(query)
        else:
            found = self.prices.get(urllib.parse.unquote(url.path)[len("/server/"):-len("/prices")],
                                    (404, {}, b'{"detail":"Server not found"}'))
        self.answers[method, path] = found
        return super().answer(method, path, headers, body)

    def find(self, query):
        """Filters servers as the keeper does: sizes in GiB, and only servers with a price."""
        def at_least(key, each, unit=1):
            return (each[key] or 0) >= float(query.get(MINIMA[key], ["0"])[0]) * unit

        assert query["order_by"] == ["min_price_ondemand"] and query["order_dir"] == ["asc"]
        found = [each for each in self.servers if each["min_price_ondemand"] is not None
                 and at_least("vcpus", each) and at_least("memory_amount", each, 1024)
                 and at_least("gpu_count", each) and at_least("gpu_memory_total", each, 1024)
                 and each["vendor_id"] in query.get("vendor", [each["vendor_id"]])
                 and each["cpu_architecture"] in query.get("architecture", [each["cpu_architecture"]])]
        return sorted(found, key=lambda each: each["min_price_ondemand"])[:int(query["limit"][0])]

    def queries(self):
        """Returns the parameters of each request for servers."""
        return [dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query))
                for _, path, _, _ in self.requests if path.startswith("/servers?")]


MINIMA = {"vcpus": "vcpus_min", "memory_amount": "memory_min", "gpu_count": "gpu_min",
          "gpu_memory_total": "gpu_memory_total"}
