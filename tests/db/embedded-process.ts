import { openDatabase } from '@/db/open.ts'

/**
 * A process of its own that uses the embedded database: `bun embedded-process.ts DATA_DIR ROLE`. Says `ready` or why
 * not, then answers lines of SQL with JSON until its input ends, at which it closes and leaves.
 */
const [dataDir = '', role] = process.argv.slice(2)

try {
  const database = await openDatabase({
    databaseUrl: undefined,
    dataDir,
    role: role === 'serve' ? 'serve' : 'command',
  })
  console.log('ready')
  for await (const line of console) {
    // The end of the input arrives as one more line.
    if (line === '') continue
    console.log(JSON.stringify(await database.sql.unsafe(line).then(rows => [...rows])))
  }
  await database.close()
  console.log('closed')
} catch (error) {
  console.log(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
