import type { Target } from '@/formats/codec.ts'

/** Whether a vendor, told by `Target.vendor`, is OpenAI itself or Azure, which serves the same models in the same way. */
export function isOpenai(vendor: string): boolean {
  return OPENAI.test(vendorHost(vendor))
}

/** A vendor's short name or host, without case and port. */
export function vendorHost(vendor: string): string {
  return vendor.toLowerCase().replace(/:\d+$/, '')
}

const OPENAI =
  /^(?:openai|azure)$|(?:^|\.)(?:api\.openai\.com|openai\.azure\.com|(?:services\.ai|cognitiveservices)\.azure\.com)$/

/** Whether OpenAI made the model and keeps it. OpenRouter and Amazon name whose a model is; the open ones run elsewhere. */
export function isServedByOpenai({ vendor, model }: Pick<Target, 'vendor' | 'model'>): boolean {
  return isOpenai(vendor) || /^(?:[a-z]+\.)?openai[./](?!gpt-oss)/.test(model)
}
