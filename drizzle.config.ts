import { defineConfig } from 'drizzle-kit'

/** `bun run db:generate` compares src/db/schema.ts with drizzle/meta; no server is asked. */
export default defineConfig({
  dialect: 'postgresql',
  schema: './src/db/schema.ts',
  out: './drizzle',
  casing: 'snake_case',
})
