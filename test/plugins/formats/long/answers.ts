/** Streamed answers of any length, each of one kind of content, as parts of the hub. */
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { citation, image, list, program, search } from './requests.ts'

const END: readonly Part[] = [
  { type: 'stop', choice: 0, stop: { reason: 'end' } },
  { type: 'count', meters: { input: 1, output: 1 } },
  { type: 'end' },
]
const answer = (...parts: readonly Part[]): readonly Part[] => [
  { type: 'begin', id: 'i', model: 'm', created: 1 },
  ...parts,
  ...END,
]
const open = (index: number, content: Content): Part => ({
  type: 'open',
  index,
  choice: 0,
  content,
})
const grow = (index: number, text: string): Part => ({ type: 'grow', index, text })
const cite = (index: number, at: number): Part => ({
  type: 'cite',
  index,
  citation: citation(at),
})
const close = (index: number): Part => ({ type: 'close', index })
const TEXT = { type: 'text', text: '' } as const
const call = (index: number) => ({ type: 'call', id: `c${index}`, name: 'f', input: '' }) as const

export const ANSWERS: Readonly<Record<string, (length: number) => readonly Part[]>> = {
  'deltas of a text': n => answer(open(0, TEXT), ...list(n, () => grow(0, 'wörd ')), close(0)),
  'deltas of a call': n =>
    answer(
      open(0, call(0)),
      grow(0, '{"a":"'),
      ...list(n, () => grow(0, 'word ')),
      grow(0, '"}'),
      close(0),
    ),
  texts: n => answer(...list(n, i => [open(i, TEXT), grow(i, 'x'), close(i)]).flat()),
  calls: n => answer(...list(n, i => [open(i, call(i)), grow(i, '{}'), close(i)]).flat()),
  'calls at once': n =>
    answer(
      ...list(n, index => open(index, call(index))),
      ...list(n, index => grow(index, '{}')),
      ...list(n, close),
    ),
  citations: n =>
    answer(open(0, TEXT), ...list(n, index => [grow(0, 'ö'), cite(0, index)]).flat(), close(0)),
  'citations of one span': n =>
    answer(
      open(0, TEXT),
      grow(0, 'x'),
      ...list(n, (index): Part => {
        const { url, title } = citation(index)
        return {
          type: 'cite',
          index: 0,
          citation: { ...(url && { url }), ...(title && { title }) },
        }
      }),
      close(0),
    ),
  thoughts: n =>
    answer(
      ...list(n, (index): readonly Part[] => [
        open(index, { type: 'thought', text: '' }),
        grow(index, 'x'),
        { type: 'payload', index, payload: { origin: 'anthropic-messages', data: `s${index}` } },
        close(index),
      ]).flat(),
    ),
  searches: n => answer(...list(n, index => [open(index, search(index)), close(index)]).flat()),
  'searches that end at once': n =>
    answer(
      ...list(n, index => open(index, { ...search(index), sources: [] })),
      ...list(n, (index): Part => ({ type: 'close', index, content: search(index) })),
    ),
  'hosted calls': n =>
    answer(...list(n, index => [open(index, program(index)), close(index)]).flat()),
  images: n => answer(...list(n, index => [open(index, image(index)), close(index)]).flat()),
  choices: n => [
    { type: 'begin', id: 'i', model: 'm' },
    ...list(n, (index): readonly Part[] => [
      { type: 'open', index, choice: index, content: TEXT },
      grow(index, 'x'),
      close(index),
    ]).flat(),
    ...list(n, (choice): Part => ({ type: 'stop', choice, stop: { reason: 'end' } })),
    { type: 'end' },
  ],
}
