/** Searches long texts in turns, so that a request of megabytes does not hold up others. */
import { largeTurn } from '../../engine/kit.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { mapPromptText, type TextFinder, type TextMatch } from '../formats/hub/text.ts'

/** Characters that are searched in one turn. */
const TURN = 65_536

/** The texts in which guards look. */
export const textsOf = (prompt: Prompt): ReadonlySet<string> => {
  const texts = new Set<string>()
  mapPromptText(prompt, text => {
    texts.add(text)
    return text
  })
  return texts
}
/** The matches of each text that has some. */
export const scan = async (
  texts: ReadonlySet<string>,
  finder: TextFinder,
): Promise<ReadonlyMap<string, readonly TextMatch[]>> => {
  const matches = new Map<string, readonly TextMatch[]>()
  let work = 0
  for (const text of texts) {
    const own: TextMatch[] = []
    for (let at = 0; at < text.length; ) {
      work += Math.min(TURN, text.length - at)
      if (work > TURN) {
        await largeTurn()
        work = 0
      }
      at = scanFrom(text, at, finder, own)
    }
    if (own.length > 0) matches.set(text, own)
  }
  return matches
}

/** Adds the matches of one piece. Returns where the next piece begins. */
const scanFrom = (text: string, at: number, finder: TextFinder, own: TextMatch[]): number => {
  // One character before it: finders see where words begin.
  const from = Math.max(0, at - 1)
  const isLast = text.length - at <= TURN
  const piece = text.slice(from, at + TURN)
  const open = isLast ? piece.length : finder.openFrom(piece)
  let end = open
  for (const match of finder.find(piece)) {
    if (match.start >= open) break
    if (from + match.start < at) continue
    own.push({ ...match, start: from + match.start, end: from + match.end })
    end = Math.max(end, match.end)
  }
  // If a match may begin at the start of the piece, the next piece begins in its middle.
  return Math.max(from + end, at + (isLast ? TURN : TURN / 2))
}
