import type { Loss, RequestField } from '@/generation/loss.ts'

/** What of a request could not be said, each thing once. */
export class Losses {
  readonly list: Loss[] = []

  add(field: RequestField | 'extension', name?: string): void {
    if (this.list.some(loss => loss.field === field && loss.name === name)) return
    this.list.push({ field, name })
  }

  addAll(losses: readonly Loss[]): void {
    for (const { field, name } of losses) this.add(field, name)
  }
}
