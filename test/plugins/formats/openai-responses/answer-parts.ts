/** Answers as parts, in every order in which a format may receive them. */
import type { Part, Stop } from '../../../../plugins/formats/hub/answer.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'

export const open = (index: number, content: Content, choice = 0): Part => ({
  type: 'open',
  index,
  choice,
  content,
})
export const grow = (index: number, text: string): Part => ({ type: 'grow', index, text })
const close = (index: number): Part => ({ type: 'close', index })
export const ending = (
  reason: Stop['reason'] = 'end',
  more: Partial<Stop> = {},
): readonly Part[] => [
  { type: 'count', meters: { input: 3, output: 2 } } as const,
  { type: 'stop', choice: 0, stop: { reason, ...more } } as const,
  { type: 'end' } as const,
]
export const text: Content = { type: 'text', text: '' }
const thought: Content = { type: 'thought', text: '' }
const call = (id: string): Content => ({ type: 'call', id, name: 'f', input: '' })
export const block = (
  index: number,
  content: Content,
  ...words: readonly string[]
): readonly Part[] => [open(index, content), ...words.map(word => grow(index, word)), close(index)]
/** Named by the special property of each. */
export const CASES: Readonly<Record<string, readonly Part[]>> = {
  'a text': [...block(0, text, 'he', 'llo'), ...ending()],
  'no content': ending(),
  'thought, text and call (edge 24)': [
    ...block(0, thought, 'hm', ' so'),
    ...block(1, text, 'see'),
    ...block(2, call('c'), '{"a":', '1}'),
    ...ending('call'),
  ],
  'interleaved calls (edge 1)': [
    open(0, call('a')),
    open(1, call('b')),
    grow(0, '{"x"'),
    grow(1, '{}'),
    grow(0, ':1}'),
    close(1),
    close(0),
    ...ending('call'),
  ],
  'a text that continues during a call': [
    open(0, text),
    grow(0, 'one '),
    open(1, call('c')),
    grow(1, '{}'),
    grow(0, 'two'),
    close(0),
    close(1),
    ...block(2, text, 'three'),
    ...ending('call'),
  ],
  'interleaved texts': [
    open(0, text),
    open(1, text),
    grow(1, 'b'),
    grow(0, 'a'),
    close(0),
    close(1),
    ...ending(),
  ],
  'unclosed blocks': [open(0, text), grow(0, 'a'), open(1, call('c')), ...ending('call')],
  'a call without arguments (edge 16)': [...block(0, call('c')), ...ending('call')],
  'a call that opens with its arguments': [
    open(0, { type: 'call', id: 'c', name: 'f', input: '{"a":1}' }),
    close(0),
    ...ending('call'),
  ],
  'a call of a free-text tool': [
    ...block(
      0,
      { type: 'call', id: 'c', name: 'sql', input: '', isFreeText: true },
      'SELECT ',
      '1',
    ),
    ...ending('call'),
  ],
  'a streamed refusal': [
    ...block(0, { type: 'refusal', text: '' }, 'I ', 'won’t'),
    ...ending('refusal'),
  ],
  'a refusal after a text': [
    ...block(0, text, 'well'),
    ...block(1, { type: 'refusal', text: '' }, 'no'),
    ...ending('refusal'),
  ],
  'a refusal in the stop reason only': ending('refusal', { message: 'no' }),
  'a thought without text (edge 10)': [
    open(0, thought),
    { type: 'payload', index: 0, payload: { origin: 'x', data: 'y' } } as const,
    close(0),
    ...block(1, text, 'hi'),
    ...ending(),
  ],
  'a call with a payload (edge 8)': [
    open(0, { ...call('c'), payload: { origin: 'google-gemini', data: 'c2ln' } } as Content),
    grow(0, '{}'),
    close(0),
    ...ending('call'),
  ],
  'a text with a late payload': [
    open(0, text),
    grow(0, 'hi'),
    { type: 'payload', index: 0, payload: { origin: 'x', data: 'y' } } as const,
    close(0),
    ...block(1, call('c'), '{}'),
    ...ending('call'),
  ],
  'a search with sources and a citation (edge 26)': [
    open(0, { type: 'hostedCall', tool: 'web_search', id: 'w', input: { query: 'q' } }),
    {
      type: 'close',
      index: 0,
      content: {
        type: 'hostedCall',
        tool: 'web_search',
        id: 'w',
        input: { query: 'q' },
        sources: [{ url: 'https://x' }],
      },
    },
    open(1, text),
    grow(1, 'sun'),
    { type: 'cite', index: 1, citation: { url: 'https://x' } } as const,
    close(1),
    ...ending(),
  ],
  'code execution and file search': [
    ...block(0, {
      type: 'hostedCall',
      tool: 'code_execution',
      id: 'w',
      input: { code: '1' },
      output: '1',
    }),
    ...block(1, { type: 'hostedCall', tool: 'file_search', id: 'v', input: 'q' }),
    ...ending(),
  ],
  'a hosted call without an item type': [
    ...block(0, { type: 'hostedCall', tool: 'other', id: 'w', input: null }),
    ...block(1, text, 'hi'),
    ...ending(),
  ],
  'an inline image': [
    ...block(0, {
      type: 'media',
      kind: 'image',
      source: { type: 'data', data: 'AAAA', mime: 'image/png' },
    }),
    ...ending(),
  ],
  'an image by URL': [
    ...block(0, { type: 'media', kind: 'image', source: { type: 'url', url: 'https://x/y.png' } }),
    ...ending(),
  ],
  'several choices (edge 25)': [
    open(0, text),
    open(1, text, 1),
    grow(1, 'b'),
    grow(0, 'a'),
    close(0),
    close(1),
    { type: 'stop', choice: 1, stop: { reason: 'length' } } as const,
    ...ending(),
  ],
  'a truncated text (edge 23)': [...block(0, text, 'he'), ...ending('length')],
  'a truncated call (edge 3)': [open(0, call('c')), grow(0, '{"a'), ...ending('length')],
  'a filtered text': [...block(0, text, 'he'), ...ending('filter')],
}
