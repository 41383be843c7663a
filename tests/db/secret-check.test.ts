import { expect, test } from 'bun:test'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { checkSecret, isSealed } from '@/db/secret-check.ts'
import { secretBox } from '@/secrets/secret-box.ts'

const database = await fileDatabase()

test('the first secret a database is used with is the one it wants ever after', async () => {
  const box = secretBox('the secret of this deployment, 32+ bytes')
  expect(await isSealed(database)).toBe(false)
  await checkSecret(database, box)
  expect(await isSealed(database)).toBe(true)
  await checkSecret(database, box)
  await expect(checkSecret(database, secretBox('another one of at least 32 bytes'))).rejects.toThrow(
    'TOLLGATE_SECRET is not the one',
  )
})
