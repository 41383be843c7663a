import type { FinishReason, Step } from '@/simulator/script/script.ts'
import type { OfferedTool } from './prompt.ts'

/** An answer in one piece, folded from its steps. */
export interface FoldedAnswer {
  /** Undefined when there was none. */
  reasoning: string | undefined
  textTokens: string[]
  refusal: string
  calls: { tool: OfferedTool; input: string; ended: boolean }[]
  hasImage: boolean
  finish: FinishReason
  stopSequence: string | undefined
}

/** Folds a whole answer; throws the Failure of an error step, which a whole answer can only have as its status. */
export function fold(steps: Iterable<Step>): FoldedAnswer {
  const answer: FoldedAnswer = {
    reasoning: undefined,
    textTokens: [],
    refusal: '',
    calls: [],
    hasImage: false,
    finish: 'stop',
    stopSequence: undefined,
  }
  for (const step of steps) addStep(answer, step)
  return answer
}

function addStep(answer: FoldedAnswer, step: Step): void {
  switch (step.type) {
    case 'reasoning':
      answer.reasoning = (answer.reasoning ?? '') + step.text
      return
    case 'reasoning-end':
      return
    case 'text':
      answer.textTokens.push(step.text)
      return
    case 'refusal':
      answer.refusal += step.text
      return
    case 'call-start':
      answer.calls.push({ tool: step.tool, input: '', ended: false })
      return
    case 'call-input': {
      const call = answer.calls[step.call]
      if (call !== undefined) call.input += step.text
      return
    }
    case 'call-end': {
      const call = answer.calls[step.call]
      if (call !== undefined) call.ended = true
      return
    }
    case 'image':
      answer.hasImage = true
      return
    case 'error':
      throw step.failure
    case 'finish':
      answer.finish = step.reason
      answer.stopSequence = step.stopSequence
      return
    default:
      step satisfies never
  }
}
