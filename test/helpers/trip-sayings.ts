/** Accepted differences of conversations after a round trip that are not reported as dropped, each
 *  with its reason. */
import { fitted, NARROW } from '../../plugins/formats/call-id.ts'
import type { Media } from '../../plugins/formats/content.ts'
import { retold } from '../../plugins/formats/work.ts'
import { merged, type Piece } from './facts.ts'
import { by, CHAT, GEMINI, MESSAGES, RESPONSES, type Way } from './trip-way.ts'

interface SayingReason {
  readonly reason: string
  where(way: Way): boolean
  /** Normalises the pieces, so that both forms become equal. */
  grant(said: readonly Piece[], way: Way): readonly Piece[]
}
const each =
  (change: (piece: Piece) => readonly Piece[]) =>
  (said: readonly Piece[]): readonly Piece[] =>
    merged(said.flatMap(change))
const retext =
  (role: Piece['role'], change: (text: string) => string) =>
  (said: readonly Piece[]): readonly Piece[] =>
    each(piece =>
      piece.type === 'text' && piece.role === role
        ? [{ ...piece, text: change(piece.text) }]
        : [piece],
    )(said)

export const SAYINGS: readonly SayingReason[] = [
  {
    reason: 'other providers receive hosted calls as text',
    where: ({ from, to }) => from !== to,
    grant: (said, { lost }) =>
      each(piece => {
        if (piece.type !== 'hostedCall') return [piece]
        const named: string[] = []
        const text = retold(piece.work, { drop: field => void named.push(field) })
        if (text) return [{ role: piece.role, type: 'text', text: text.text }]
        return named.every(field => lost.includes(field)) ? [] : [piece]
      })(said),
  },
  {
    reason: 'later system turns become user text in formats without them',
    where: way => by(way, GEMINI) || (by(way, MESSAGES) && !way.able),
    grant: said => {
      const start = said.findIndex(({ role }) => role !== 'system')
      const folded = said.map(
        (piece, index): Piece =>
          index > start && start >= 0 && piece.role === 'system'
            ? { ...piece, role: 'user' }
            : piece,
      )
      return retext('user', text => text.replace(/<\/?system>/g, ''))(folded)
    },
  },
  {
    reason: 'a refusal becomes text in formats without refusals',
    where: way => by(way, MESSAGES, GEMINI),
    grant: each(piece => (piece.type === 'refusal' ? [{ ...piece, type: 'text' }] : [piece])),
  },
  {
    reason: 'media of a result move to a user message if results hold no media',
    where: way => by(way, CHAT) || (by(way, GEMINI) && !way.able),
    grant: said => merged(shownBehind(said)),
  },
  {
    reason: 'a failed tool is reported in the text of its result',
    where: way => by(way, CHAT, RESPONSES),
    grant: each(piece =>
      piece.type === 'result'
        ? [{ ...piece, text: piece.text.replace(/^(Error: ?)+/, '') }]
        : [piece],
    ),
  },
  {
    reason: 'Google results are objects: JSON is parsed, other text becomes a member',
    where: way => by(way, GEMINI),
    grant: each(piece =>
      piece.type === 'result' ? [{ ...piece, text: insideOf(piece.text) }] : [piece],
    ),
  },
  {
    reason: 'a text document becomes text if the format accepts no text files',
    where: way => by(way, CHAT, RESPONSES, MESSAGES, GEMINI),
    grant: each(piece => {
      if (piece.type !== 'media') return [piece]
      const text = textOf(piece.media)
      return text === undefined ? [piece] : [{ role: piece.role, type: 'text', text }]
    }),
  },
  {
    reason: 'responses send a document’s description as user text',
    where: ({ about, ...way }) => by(way, RESPONSES) && about.length > 0,
    grant: (said, { about }) =>
      retext('user', text => about.reduce((rest, each) => rest.replace(each, ''), text))(said),
  },
  {
    reason: 'an id that is too long is replaced by its digest',
    where: () => true,
    grant: each(piece => ('id' in piece ? [{ ...piece, id: shortened(piece.id) }] : [piece])),
  },
  {
    reason: 'messages require a leading user message; a dot is added',
    where: way => by(way, MESSAGES),
    grant: said => {
      const start = said.findIndex(({ role }) => role !== 'system')
      const first = said[start]
      return first?.type === 'text' && first.role === 'user' && first.text === '.'
        ? said.filter((_, index) => index !== start)
        : said
    },
  },
  {
    reason: 'instructions replace JSON mode',
    where: way => by(way, MESSAGES),
    grant: retext('system', text =>
      text.replace('Answer with one valid JSON object and nothing else.', ''),
    ),
  },
  {
    reason: 'a prefill is followed by a user message, and reported as dropped',
    where: ({ lost }) => lost.includes('prefill'),
    grant: said => {
      const last = said.at(-1)
      return last?.role === 'user' && last.type === 'text' && last.text === 'Continue.'
        ? said.slice(0, -1)
        : said
    },
  },
]
const ALONE = new Set(['output', 'result', 'return_value', 'error'])
const shortened = (id: string): string => (id.length > NARROW.longest ? fitted(id, NARROW) : id)
const insideOf = (text: string): string => {
  try {
    const value = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return text
    const [only = '', ...others] = Object.keys(value)
    if (only === '') return ''
    const inner = others.length === 0 && ALONE.has(only) ? value[only] : value
    return typeof inner === 'string' ? inner : JSON.stringify(inner)
  } catch {
    return text
  }
}
const shownBehind = (said: readonly Piece[]): readonly Piece[] => {
  const pieces: Piece[] = []
  let waiting: Piece[] = []
  const flush = (): void => {
    pieces.push(...waiting)
    waiting = []
  }
  for (const piece of said) {
    if (piece.type === 'result') {
      const text = piece.text.replace(/\[\w+ below\]/g, '')
      waiting.push(...piece.media.map((media): Piece => ({ role: 'user', type: 'media', media })))
      pieces.push({ ...piece, text, media: [] })
      continue
    }
    flush()
    const told = piece.type === 'text' && /^Returned by .*:$/.test(piece.text)
    if (!told) pieces.push(piece)
  }
  flush()
  return pieces
}
const textOf = ({ kind, source }: Media): string | undefined => {
  if (kind !== 'document') return undefined
  if (source.type === 'text') return source.text
  if (source.type !== 'data' || !source.mime.startsWith('text/')) return undefined
  return Buffer.from(source.data, 'base64').toString()
}
