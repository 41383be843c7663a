import type { Loss, RequestField } from '@/generation/loss.ts'

/** The losses of one request, each said once. */
export class Losses {
  readonly list: Loss[] = []

  add(field: RequestField | 'extension', name?: string): void {
    if (this.list.some(loss => loss.field === field && loss.name === name)) return
    this.list.push({ field, name })
  }
}
