/** Sends a request of the journal again to a target, without an account and without a charge. */
import { UsageError } from '../../engine/cli/kit.ts'
import { errors } from '../../engine/errors.ts'
import type { CommandResult, HostBase, Json, Target } from '../../engine/plugin.ts'
import { readCatalogue } from '../catalogue/configured.ts'
import { type NamedTarget, sendingFormat, sendPrompt } from '../conversion/send-prompt.ts'
import { isFields } from '../formats/fields.ts'
import type { Answer } from '../formats/hub/answer.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { formatsOf } from '../formats/index.ts'
import type { JournalRecord } from './record.ts'

/** ms of the whole response. */
const TIMEOUT = 600_000
const IGNORE = { add() {} }

const fault = errors({
  REPLAY_CUT: [409, 'The journal has no request of this call: it was too large, or not read'],
  REPLAY_FORMAT: [409, 'No format of the target "%s" can be written'],
  REPLAY_REFUSED: [502, 'The target "%s" answered %d: %s'],
})

export const replay = async (
  host: HostBase,
  record: JournalRecord,
  to: unknown,
): Promise<CommandResult> => {
  const { request, format: name } = record
  const client = formatsOf(host).clients.get(name)
  if (!request || !client?.codec || !isFields(request.body)) throw fault('REPLAY_CUT')
  const prompt = client.codec.decodePrompt(request.body, request.path, IGNORE)
  const target = targetOf(host, record, to)
  const start = performance.now()
  const answer = await send(host, target, { ...prompt, stream: false })
  const json = {
    id: record.id,
    target: `${target.upstream}/${target.name}`,
    ms: Math.round(performance.now() - start),
    usage: (answer.meters ?? null) as Json,
    text: textOf(answer),
    before: {
      target: `${record.upstream}/${record.target}`,
      ms: record.ms,
      usage: record.usage,
      answer: record.answer,
    },
  }
  const counts = `${json.target}, ${json.ms} ms, ${JSON.stringify(json.usage)}`
  return { text: `${json.text}\n\n${counts}. No account was charged.`, json }
}

/** A model of `models:`, or UPSTREAM/NAME. */
const targetOf = (host: HostBase, { upstream, target }: JournalRecord, to: unknown) => {
  const text = typeof to === 'string' ? to : `${upstream}/${target}`
  const model = readCatalogue(host).find(text)?.targets[0]
  const [, own = '', name = ''] = /^([^/]+)\/(.+)$/.exec(text) ?? []
  const result: Target | undefined = model ?? (host.upstreams[own] && { upstream: own, name })
  if (!result) throw new UsageError(`--to: there is no model and no upstream of the name "${text}"`)
  return { ...result, name: result.name ?? text }
}

const send = async (host: HostBase, target: NamedTarget, prompt: Prompt): Promise<Answer> => {
  const name = `${target.upstream}/${target.name}`
  const format = sendingFormat(host, target)
  if (!format) throw fault('REPLAY_FORMAT', [name])
  const limits = { timeout: TIMEOUT }
  const { status, text, answer } = await sendPrompt(host, { target, format }, prompt, limits)
  if (!answer) throw fault('REPLAY_REFUSED', [name, status, text.slice(0, 500)])
  return answer
}

const textOf = ({ choices }: Answer): string =>
  choices
    .flatMap(({ content }) =>
      content.map(each => {
        if (each.type === 'call') return `${each.name}(${each.input})`
        return each.type === 'text' || each.type === 'refusal' ? each.text : ''
      }),
    )
    .filter(text => text !== '')
    .join('\n')
