import { afterAll } from 'bun:test'
import { endLeftovers } from './support/leftovers.ts'
import { closeTestServer } from './support/stores/database.ts'

// Run after the last test of the last file. Cost nothing unless a test asked for a database, or left a process behind.
afterAll(closeTestServer, 60_000)
afterAll(endLeftovers, 60_000)
