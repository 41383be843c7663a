import type { ApiKey } from '@/accounts/account.ts'

/** Of a key what people know it by. */
type Named = Pick<ApiKey, 'id' | 'name' | 'lookup'>

/** What people call a key: its name or, where it has none, how it begins. */
export function keyLabel(key: Named): string {
  return key.name === '' ? keyPrefix(key) : key.name
}

/** What people call keys that stand beside one another, by their ids: of one name, how they begin tells them apart. */
export function keyLabels(keys: readonly Named[]): Map<number, string> {
  const alike = Map.groupBy(keys, keyLabel)
  return new Map(
    keys.map(key => {
      const label = keyLabel(key)
      const isAlone = alike.get(label)?.length === 1
      return [key.id, isAlone ? label : `${label} (${keyPrefix(key)})`]
    }),
  )
}

/** What is safe to show of it. */
export function keyPrefix({ lookup }: Pick<ApiKey, 'lookup'>): string {
  return `sk-${lookup}`
}
