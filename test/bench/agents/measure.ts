/** Measures the part `agents`: large requests, whole and streamed, through each subject; and the
 *  same requests to an upstream of another format. */
import { NAMES } from '../answers.ts'
import { MODEL_NAMES } from '../dialogue.ts'
import { PATH } from '../gateway.ts'
import type { Job } from '../load.ts'
import { interleave, type Load, requestOf } from '../rounds.ts'
import type { Subject } from '../tables.ts'
import { AGENT_SIZES, type AgentSize, agentBody } from './bodies.ts'
import { type AgentRounds, IDENTITY, TRANSLATED } from './report.ts'

interface Sizes {
  readonly rounds: number
  readonly seconds: number
  readonly slices: number
}
const CONNECTIONS: Readonly<Record<AgentSize, number>> = { '60 KB': 16, '220 KB': 16, '1 MB': 4 }
const TARGETS = { [IDENTITY]: 'openai-chat', [TRANSLATED]: 'anthropic-messages' }

/** `translating`: a gateway with upstreams of several formats. */
export const measureAgents = async (
  subjects: readonly Subject[],
  translating: Subject,
  load: Load,
  { rounds, seconds, slices }: Sizes,
): Promise<AgentRounds[]> => {
  const crossing = Object.keys(TARGETS).map(name => ({ ...translating, name }))
  const measured: AgentRounds[] = []
  for (const size of AGENT_SIZES) {
    const measure = (
      these: readonly Subject[],
      modelOf: (name: string) => string,
      stream = false,
    ) => interleave(these, load, rounds, jobOf(size, seconds, modelOf, stream), slices)
    measured.push({
      size,
      plain: await measure(subjects, () => NAMES.plain),
      streams: await measure(subjects, () => NAMES.burst, true),
      translation: await measure(crossing, modelOfTarget),
    })
  }
  return measured
}
const modelOfTarget = (name: string): string =>
  `${TARGETS[name as keyof typeof TARGETS]}-${MODEL_NAMES.plain}`

/** The request of each subject is made once: a round asks for it again and again. */
const jobOf = (
  size: AgentSize,
  seconds: number,
  modelOf: (name: string) => string,
  stream: boolean,
): ((subject: Subject) => Job) => {
  const requests = new Map<string, string>()
  return subject => {
    const { name, port } = subject
    const request =
      requests.get(name) ?? requestOf(subject, PATH, agentBody(size, modelOf(name), stream))
    requests.set(name, request)
    return { port, request, connections: CONNECTIONS[size], seconds }
  }
}
