/** Why a conversation may come back from a trip put otherwise, with nothing named: each with its reason. */
import { fitted, NARROW } from '../../plugins/formats/call-id.ts'
import type { Media } from '../../plugins/formats/content.ts'
import { retold } from '../../plugins/formats/work.ts'
import { merged, type Piece } from './facts.ts'
import { by, CHAT, GEMINI, MESSAGES, RESPONSES, type Way } from './trip-way.ts'

interface SayingReason {
  readonly reason: string
  where(way: Way): boolean
  /** Both sides as if they had been put the way that is granted. */
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
    reason: 'what a hosted tool did is told in words to all but its provider',
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
    reason: 'instructions in the middle are the user’s words where there is no turn for them',
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
    reason: 'a refusal is a text to whoever has no word for it',
    where: way => by(way, MESSAGES, GEMINI),
    grant: each(piece => (piece.type === 'refusal' ? [{ ...piece, type: 'text' }] : [piece])),
  },
  {
    reason: 'media of a result are shown by the user where a result takes none',
    where: way => by(way, CHAT) || (by(way, GEMINI) && !way.able),
    grant: said => merged(shownBehind(said)),
  },
  {
    reason: 'a tool that failed says so in its result',
    where: way => by(way, CHAT, RESPONSES),
    grant: each(piece =>
      piece.type === 'result'
        ? [{ ...piece, text: piece.text.replace(/^(Error: ?)+/, '') }]
        : [piece],
    ),
  },
  {
    reason: 'results are objects for google: JSON is read, and a text in a member of its own',
    where: way => by(way, GEMINI),
    grant: each(piece =>
      piece.type === 'result' ? [{ ...piece, text: insideOf(piece.text) }] : [piece],
    ),
  },
  {
    reason: 'a document in text is a text, where files in text are not taken',
    where: way => by(way, CHAT, RESPONSES, MESSAGES, GEMINI),
    grant: each(piece => {
      if (piece.type !== 'media') return [piece]
      const text = textOf(piece.media)
      return text === undefined ? [piece] : [{ role: piece.role, type: 'text', text }]
    }),
  },
  {
    reason: 'what a document is about is a text of the user’s in responses',
    where: ({ about, ...way }) => by(way, RESPONSES) && about.length > 0,
    grant: (said, { about }) =>
      retext('user', text => about.reduce((rest, each) => rest.replace(each, ''), text))(said),
  },
  {
    reason: 'an id longer than others take is known by its digest',
    where: () => true,
    grant: each(piece => ('id' in piece ? [{ ...piece, id: shortened(piece.id) }] : [piece])),
  },
  {
    reason: 'messages begin with the user, who says a dot where nothing was said',
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
    reason: 'json mode is asked for in words',
    where: way => by(way, MESSAGES),
    grant: retext('system', text =>
      text.replace('Answer with one valid JSON object and nothing else.', ''),
    ),
  },
  {
    reason: 'an answer that was begun goes on by a word of the user, and that is named',
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
