import type { Target } from '@/formats/codec.ts'
import { Losses } from '@/formats/losses.ts'
import { cacheBreakpoint } from '@/formats/openai/shared-fields.ts'
import { isServedByOpenai } from '@/formats/openai/vendor.ts'
import { type ModelTraits, modelTraits } from '@/formats/openai-chat-completions/models.ts'
import { type VendorModel, vendorModel } from '@/formats/openai-chat-completions/vendor-models.ts'
import { type VendorTraits, vendorTraits } from '@/formats/openai-chat-completions/vendors.ts'
import type { RequestField } from '@/generation/loss.ts'
import type { CacheMark } from '@/generation/part.ts'
import { type JsonObject, present } from '@/json/json.ts'

/** How to write for one upstream, and what could not be written. */
export class TargetRules {
  readonly model: ModelTraits
  readonly vendor: VendorTraits
  /** The model, as this vendor serves it. */
  readonly served: VendorModel
  /** Whether OpenAI runs the model, be it behind a gateway. */
  readonly isServedByOpenai: boolean
  /** Who this upstream is, for signatures. */
  readonly vendorName: string
  /** Where it takes thoughts back; undefined: nowhere. */
  readonly reasoningField: VendorTraits['reasoningField']
  readonly losses = new Losses()

  constructor(target: Target) {
    this.model = modelTraits(target.model)
    this.vendor = vendorTraits(target.vendor)
    this.served = vendorModel(target.vendor, target.model)
    this.isServedByOpenai = isServedByOpenai(target)
    this.vendorName = target.vendor
    this.reasoningField = target.reasoningField ?? this.vendor.reasoningField
  }

  refuses(field: RequestField): boolean {
    return this.model.refuses.has(field) || this.vendor.refuses.has(field) || this.served.refuses.has(field)
  }

  /**
   * The value, or undefined and a loss where the upstream refuses the field.
   * @param neutral a value that says what the upstream does anyway: left out where refused, and nothing is lost
   */
  take<T>(field: RequestField, value: T | undefined, neutral?: T): T | undefined {
    if (value === undefined || !this.refuses(field)) return value
    if (value !== neutral) this.losses.add(field)
    return undefined
  }

  /** The fields that mark a part for caching; none and a loss where the upstream has no marks. */
  cacheFields(mark: CacheMark | undefined): JsonObject {
    if (mark === undefined) return {}
    if (this.vendor.isOpenrouter) {
      return { cache_control: present({ type: 'ephemeral', ttl: mark.ttl }) }
    }
    if (this.model.cacheBreakpoints) return cacheBreakpoint(mark)
    if (this.served.cacheControl && mark.ttl !== '1h') return { cache_control: { type: 'ephemeral' } }
    this.losses.add('cacheMark')
    return {}
  }

  /** Whether marks are written at all: without, text is written in the plainest shape. */
  get hasCacheMarks(): boolean {
    return this.vendor.isOpenrouter || this.model.cacheBreakpoints || this.served.cacheControl
  }
}
