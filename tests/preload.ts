import { afterAll } from 'bun:test'
import { closeTestServer } from './support/stores/database.ts'

// Runs after the last test of the last file. Costs nothing unless a test asked for a database.
afterAll(closeTestServer, 60_000)
