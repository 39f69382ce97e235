/** The beginning of a prompt in blocks, for `balance: prefix`: engines keep what they computed for
 *  it, and the next prompt that begins in the same way is cheap there. */
import { createHash } from 'node:crypto'
import type { Exchange, Json, PrefixBlock, Target } from '../../engine/plugin.ts'
import { isFields } from '../formats/fields.ts'
import { ACCOUNT, MODEL } from '../slots.ts'

/** Members of requests that engines put into the prompt, in the order of a prompt. */
const MEMBERS: readonly string[] = [
  'tools',
  'system',
  'systemInstruction',
  'system_instruction',
  'instructions',
  'messages',
  'contents',
  'input',
  'prompt',
]
/** Characters of the first blocks, how many they are, and of the further ones. */
const SMALL = { size: 256, count: 16 }
const LARGE = 4_096
/** Longer prompts are cut. */
const LONGEST = 1_048_576

/** Each hash stands for everything up to the end of its block, of one account and model. */
export const prefixOf = (seed: string, body: Json): readonly PrefixBlock[] => {
  if (!isFields(body)) return []
  const text = MEMBERS.map(name => body[name])
    .filter(value => value !== undefined)
    .map(value => JSON.stringify(value))
    .join('\n')
    .slice(0, LONGEST)
  const blocks: PrefixBlock[] = []
  let before = seed
  for (let start = 0; start < text.length; ) {
    const end = Math.min(start + (blocks.length < SMALL.count ? SMALL.size : LARGE), text.length)
    const digest = createHash('sha1').update(before).update(text.slice(start, end)).digest()
    blocks.push({ hash: digest.readUIntBE(0, 6), end })
    before = digest.toString('latin1')
    start = end
  }
  return blocks
}

/** Marks the targets with the beginning of the prompt. */
export const withPrefix = (
  targets: readonly Target[],
  { request, slots }: Exchange,
): readonly Target[] => {
  // Accounts share no prefix: the time of an answer would show what others asked.
  const seed = `${slots.get(ACCOUNT)?.id ?? ''} ${slots.get(MODEL)?.asked ?? ''} `
  const prefix = prefixOf(seed, request.parsed ?? null)
  return targets.map(target => ({ ...target, prefix }))
}
