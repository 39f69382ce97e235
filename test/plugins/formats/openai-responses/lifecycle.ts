/** Checks that the events of a responses stream arrive in the order that clients expect. */
import { type Event, eventsOf } from './recorded-responses.ts'

/** Event -> the event of the same item (and part) that must precede it. */
const PREDECESSORS: Readonly<Record<string, string>> = {
  'content_part.added': 'output_item.added',
  'output_text.delta': 'content_part.added',
  'output_text.annotation.added': 'content_part.added',
  'output_text.done': 'content_part.added',
  'refusal.delta': 'content_part.added',
  'refusal.done': 'content_part.added',
  'content_part.done': 'content_part.added',
  'reasoning_summary_part.added': 'output_item.added',
  'reasoning_summary_text.delta': 'reasoning_summary_part.added',
  'reasoning_summary_text.done': 'reasoning_summary_part.added',
  'reasoning_summary_part.done': 'reasoning_summary_text.done',
  'function_call_arguments.delta': 'output_item.added',
  'function_call_arguments.done': 'output_item.added',
  'custom_tool_call_input.delta': 'output_item.added',
  'custom_tool_call_input.done': 'output_item.added',
  'web_search_call.in_progress': 'output_item.added',
  'web_search_call.searching': 'web_search_call.in_progress',
  'web_search_call.completed': 'web_search_call.searching',
  'code_interpreter_call.in_progress': 'output_item.added',
  'code_interpreter_call_code.delta': 'code_interpreter_call.in_progress',
  'code_interpreter_call_code.done': 'code_interpreter_call_code.delta',
  'code_interpreter_call.interpreting': 'code_interpreter_call_code.done',
  'code_interpreter_call.completed': 'code_interpreter_call.interpreting',
  'file_search_call.in_progress': 'output_item.added',
  'file_search_call.searching': 'file_search_call.in_progress',
  'file_search_call.completed': 'file_search_call.searching',
  'image_generation_call.in_progress': 'output_item.added',
  'image_generation_call.generating': 'image_generation_call.in_progress',
  'image_generation_call.completed': 'image_generation_call.generating',
  'output_item.done': 'output_item.added',
}
const ENDS = /^response\.(completed|incomplete|failed)$/

/** Returns the violations; an empty list for a valid stream. */
export const lifecycleErrors = (stream: string): readonly string[] => {
  const events = eventsOf(stream)
  const wrong: string[] = []
  const names = [...stream.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)
  events.forEach(({ type, sequence_number: number }, index) => {
    if (names[index] !== type) wrong.push(`event ${index} is named ${names[index]}`)
    if (number !== index) wrong.push(`event ${index} has the number ${number}`)
  })
  const [first, second] = events
  if (first?.type !== 'response.created') wrong.push('the first event is not response.created')
  if (second?.type !== 'response.in_progress')
    wrong.push('the second event is not response.in_progress')
  if (!ENDS.test(events.at(-1)?.type ?? '')) wrong.push('the last event does not end the response')
  if (events.filter(({ type }) => ENDS.test(type)).length > 1) wrong.push('the response ends twice')
  const items = events.filter(({ output_index: at }) => at !== undefined)
  for (const at of new Set(items.map(({ output_index }) => output_index)))
    wrong.push(
      ...itemErrors(items.filter(({ output_index }) => output_index === at)).map(
        it => `item ${at}: ${it}`,
      ),
    )
  return wrong
}
const itemErrors = (events: readonly Event[]): readonly string[] => {
  const eventNames = new Set<string>()
  const wrong: string[] = []
  const ids = new Set(events.map(({ item_id: id, item }) => id ?? item?.id))
  if (ids.size > 1) wrong.push(`it has several ids: ${[...ids].join(', ')}`)
  for (const { type, content_index: part, logprobs } of events) {
    const name = type.replace(/^response\./, '')
    const before = PREDECESSORS[name]
    const place = before?.startsWith('content_part') ? `${before} ${part}` : before
    if (name !== 'output_item.added' && (!place || !eventNames.has(place)))
      wrong.push(`${name} before ${place}`)
    if (/^output_text\.(delta|done)$/.test(name) && !Array.isArray(logprobs))
      wrong.push('no logprobs')
    if (eventNames.has('output_item.done')) wrong.push(`${name} after its end`)
    eventNames.add(name)
    if (part !== undefined) eventNames.add(`${name} ${part}`)
  }
  return wrong
}
