/** The stream facts of formats that never stream. */
import type { StreamFacts } from '../format.ts'
import { openaiErrorIn } from '../openai-error.ts'

export const NO_STREAM: StreamFacts = {
  usageMark: '"usage"',
  isCumulative: false,
  endMarks: ['[DONE]'],
  isEnd: ({ data }) => data?.trim() === '[DONE]',
  afterEnd: 'dropped',
  completesWithoutTerminator: () => true,
  error: openaiErrorIn,
  carriesContent: () => true,
}
