/** Sends a sample of every member of the SDKs' request types to the other formats: a member
 *  that has no effect there, is not named as dropped and is not refused is lost. */
import { type CellTarget, CLIENTS, type Client, type Outcome, send, TARGETS } from './cells.ts'
import { type Member, Members } from './members.ts'
import { repair } from './repair.ts'

/** One target of each format. */
const TITLES = [
  'openai-chat/other',
  'openai-responses/gpt-reasoning',
  'anthropic-messages/claude-4-6',
  'google-gemini/gemini-3',
  'bedrock-converse/claude-4-6',
]
const MEMBER_TARGETS: readonly CellTarget[] = TITLES.map(title => {
  const target = TARGETS.find(each => each.title === title)
  if (!target) throw new Error(`no target ${title}`)
  return target
})
interface LostMember {
  readonly path: string
  /** An error that is not a refusal of the request. */
  readonly fault?: string
}

const plain = (name: string): string => name.replace(/[^a-z0-9]/gi, '').toLowerCase()
/** Whether a text names the member or what it is part of. */
const isNamed = (path: string, text: string): boolean => {
  const words = new Set(text.split(/[^\w.]+|\./).map(plain))
  return path.split(/[.[\]]+/).some(key => key !== '' && words.has(plain(key)))
}
const effectOf = ({ upstreamBody, headers }: Outcome): string =>
  JSON.stringify([upstreamBody, headers])

const isLost = (
  path: string,
  outcomes: readonly Outcome[],
  without: Outcome | undefined,
): boolean => {
  const base = without ?? outcomes[0]
  return outcomes.every(
    each =>
      effectOf(each) === (base && effectOf(base)) &&
      !isNamed(path, each.dropped) &&
      each.refusal === undefined,
  )
}
const sendSample = (client: Client, target: CellTarget, body: Member['samples'][number]) =>
  send({ client, name: '', body: repair(client, body) }, target)

/** The members that are lost at a target, and the faults that are not refusals. */
export const walkMembers = async (
  client: Client,
  target: CellTarget,
): Promise<readonly LostMember[]> => {
  const lostMembers: LostMember[] = []
  for (const { path, samples, without } of new Members(client).all()) {
    const outcomes: Outcome[] = []
    for (const sample of samples) outcomes.push(await sendSample(client, target, sample))
    const base = without && (await sendSample(client, target, without))
    const fault = outcomes.find(each => each.fault !== undefined)?.fault
    if (fault !== undefined || isLost(path, outcomes, base))
      lostMembers.push({ path, ...(fault !== undefined && { fault }) })
  }
  return lostMembers
}
export const memberCells = (): readonly (readonly [Client, CellTarget])[] =>
  CLIENTS.flatMap(client =>
    MEMBER_TARGETS.filter(({ format }) => format !== client).map(
      target => [client, target] as const,
    ),
  )
