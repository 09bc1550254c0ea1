"""Tests of headwise.data."""
