import unittest

from invoice import invoice_total


class TestInvoice(unittest.TestCase):
    def test_total(self):
        self.assertEqual(invoice_total([{"price": 5, "quantity": 3}] * 2), 30)
