/** Writes a scenario as a request for interactions, as Google's SDK writes it. */
import type { LooseObject } from '../../helpers/formats/loose-json.ts'
import type { CallStep, Media, Scenario, Step } from '../scenarios.ts'
import {
  bytesOf,
  FORM,
  hasImage,
  isFile,
  isUrl,
  PNG,
  resultText,
  SIGNATURE,
  TYPES,
  withoutUndefined,
} from './parts.ts'

const media = (kind: Media): LooseObject => {
  const type = isFile(kind) ? 'document' : 'image'
  const fileType = kind === 'text-file' ? 'text/plain' : 'application/pdf'
  const mime_type = isFile(kind) ? fileType : 'image/png'
  if (isUrl(kind)) return { type, uri: TYPES[kind], mime_type }
  return { type, data: bytesOf(kind), mime_type: isFile(kind) ? mime_type : TYPES[kind] }
}
const result = (step: CallStep): unknown => {
  if (step.result === 'object') return { degrees: 20 }
  if (!hasImage(step)) return resultText(step)
  const image = { type: 'image', data: PNG, mime_type: 'image/png' }
  return [{ type: 'text', text: resultText(step) }, image]
}
const output = (text: string): LooseObject => ({
  type: 'model_output',
  content: [{ type: 'text', text }],
})
const stepsOf = (step: Step): readonly LooseObject[] => {
  if (step.type === 'system') return []
  if (step.type === 'user') {
    const content = [{ type: 'text', text: step.text }, ...step.media.map(media)]
    return [{ type: 'user_input', content }]
  }
  const signature = step.thought === 'signed' ? { signature: SIGNATURE } : {}
  const summary = [{ type: 'text', text: 'I think.' }]
  const thoughts = step.thought ? [{ type: 'thought', summary, ...signature }] : []
  if (step.type === 'assistant') return [...thoughts, output(step.text)]
  return [
    ...thoughts,
    ...(step.text ? [output(step.text)] : []),
    ...step.calls.map(({ id, name, input }) => ({
      type: 'function_call',
      id,
      name,
      arguments: input,
    })),
    ...step.calls.map(({ id, name }) => ({
      type: 'function_result',
      call_id: id,
      name,
      result: result(step),
      ...(/failed/.test(step.result) && { is_error: true }),
    })),
  ]
}
export const interactionsBody = (scenario: Scenario): LooseObject => {
  const { system, steps, tools, sampling, thinking, form, choice, isShort } = scenario
  const functions = tools.map(({ name, schema }) =>
    withoutUndefined({ type: 'function', name, description: 'A tool.', parameters: schema }),
  )
  const all = [...functions, ...(scenario.hosted ? [{ type: 'google_search' }] : [])]
  const [only, ...others] = steps
  const isText = isShort && others.length === 0 && only?.type === 'user' && !only.media.length
  const modes = { auto: 'auto', none: 'none', required: 'any' } as const
  const one = { allowed_tools: { mode: 'any', tools: [tools[0]?.name] } }
  const levels = { off: 'minimal', low: 'low', high: 'high' } as const
  return withoutUndefined({
    system_instruction: system.length > 0 ? system.join('\n\n') : undefined,
    input: isText ? only.text : steps.flatMap(stepsOf),
    tools: all.length > 0 ? all : undefined,
    generation_config: withoutUndefined({
      max_output_tokens: scenario.limit,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      stop_sequences: sampling.stop,
      seed: sampling.seed,
      tool_choice: choice && (choice === 'one' ? one : modes[choice]),
      thinking_level: thinking && levels[thinking],
      thinking_summaries: thinking && (thinking === 'off' ? 'none' : 'auto'),
    }),
    response_format: form && {
      type: 'text',
      mime_type: 'application/json',
      ...(form === 'schema' && { schema: FORM }),
    },
  })
}
