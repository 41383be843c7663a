import { openEmbedded } from '@/db/embedded.ts'

/**
 * Holds an embedded Postgres for as long as its stdin is open. In a process of its own, for when a test takes too long the
 * runner ends all of its children, and all later tests would find no database. Tells where it is.
 */
process.on('SIGTERM', () => undefined)
const embedded = await openEmbedded({ dataDir: process.argv[2] ?? '', role: 'command' })
console.log(embedded.url)
for await (const _ of Bun.stdin.stream());
await embedded.stop()
