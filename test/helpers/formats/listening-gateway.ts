/** A gateway whose clients and upstreams have every format, for stages that read prompts and
 *  answers: the upstream answers in given pieces of text. */
import type { Test } from 'tap'
import type { Document, Plugin, Stage } from '../../../engine/plugin.ts'
import errorsPlugin from '../../../plugins/errors.ts'
import type { Format } from '../../../plugins/formats/format.ts'
import type { Answer, Part } from '../../../plugins/formats/hub/answer.ts'
import { Collector, partsOf } from '../../../plugins/formats/hub/answer-parts.ts'
import type { Codec, EncodeContext } from '../../../plugins/formats/hub/codec.ts'
import type { Prompt } from '../../../plugins/formats/hub/prompt.ts'
import { textOfPrompt } from '../../../plugins/formats/hub/text.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { eventsIn } from '../../../plugins/formats/stream/sse.ts'
import translate from '../../../plugins/translate/index.ts'
import { startTextUpstream } from '../gateway/chat-upstream.ts'
import { postTo } from '../gateway/post.ts'
import { pluginOf, startTestServer } from '../gateway/test-server.ts'

export const CLIENTS = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
] as const
type ClientFormat = (typeof CLIENTS)[number]
const ERRORS = { openai: 'openai', anthropic: 'anthropic', google: 'google' }
export const formatOf = (name: string): Format & { codec: Codec } =>
  formats.get(name) as Format & { codec: Codec }
/** The codecs of upstreams and clients, which are not counted. */
const OWN_CODECS = new Map(CLIENTS.map(name => [name as string, { ...formatOf(name).codec }]))
export const ownCodec = (name: string): Codec => OWN_CODECS.get(name) as Codec
const IGNORE = { add() {} }

export const promptOf = (text: string, stream: boolean): Prompt => ({
  turns: [{ role: 'user', content: [{ type: 'text', text }] }],
  tools: [],
  settings: { limit: 50 },
  stream,
  includeUsage: false,
  body: {},
})
const contextOf = (prompt: Prompt, path: string): EncodeContext => ({
  id: '1',
  model: 'm',
  now: 1,
  prompt,
  path,
})
/** `request`: a text of the user, or a whole prompt. */
const requestOf = (name: ClientFormat, request: string | Prompt, stream: boolean) =>
  ownCodec(name).encodePrompt(
    typeof request === 'string' ? promptOf(request, stream) : { ...request, stream },
    { name: 'm', traits: {} },
    IGNORE,
  )

const METERS = { input: 3, output: 4 }
/** One event for each piece of text. */
const partsFor = (pieces: readonly string[]): readonly Part[] => {
  const empty: Answer = { choices: [{ content: [{ type: 'text', text: '' }], stop: STOP }] }
  return partsOf({ ...empty, id: 'a1', model: 'm', meters: METERS }).flatMap<Part>(part =>
    part.type === 'close'
      ? [...pieces.map(text => ({ type: 'grow', index: part.index, text }) as const), part]
      : [part],
  )
}
const STOP = { reason: 'end' } as const

/** An upstream whose path begins with the name of its format. It answers in these pieces. */
const startUpstream = async (t: Test, pieces: () => readonly string[]) => {
  const prompts: string[] = []
  const url = await startTextUpstream(t, (requestText, response, request) => {
    const [, name = '', path = ''] = /^\/([a-z-]+)(\/.*)$/.exec(request.url ?? '') ?? []
    const codec = ownCodec(name)
    const prompt = codec.decodePrompt(JSON.parse(requestText), path, IGNORE)
    prompts.push(textOfPrompt(prompt))
    if (!prompt.stream) {
      const content = [{ type: 'text', text: pieces().join('') } as const]
      const answer: Answer = { id: 'a1', model: 'm', choices: [{ content, stop: STOP }] }
      response.setHeader('content-type', 'application/json')
      const body = codec.encodeAnswer({ ...answer, meters: METERS }, contextOf(prompt, path))
      return response.end(JSON.stringify(body))
    }
    const encoder = codec.encodeStream(contextOf(prompt, path))
    response.setHeader('content-type', 'text/event-stream')
    for (const part of partsFor(pieces())) response.write(encoder.push(part))
    return response.end()
  })
  return { url, prompts }
}

/** `routeOptions`: of every route; `sections`: of the document. The header `x-target` names the
 *  format of the upstream. */
export const arrange = async (
  t: Test,
  stages: Readonly<Record<string, Plugin>>,
  routeOptions: object,
  sections: Document = {},
) => {
  let pieces: readonly string[] = []
  const { url, prompts } = await startUpstream(t, () => pieces)
  const pick: Stage = {
    targets: true,
    handle(exchange, next) {
      exchange.targets = [{ upstream: exchange.request.headers['x-target'] ?? '', name: 'm' }]
      return next()
    },
  }
  const { url: gateway } = await startTestServer(
    t,
    {
      errors: errorsPlugin as Plugin,
      pick: pluginOf(pick),
      translate: translate as Plugin,
      ...stages,
    },
    {
      ...sections,
      upstreams: Object.fromEntries(
        CLIENTS.map(name => [name, { url: `${url}/${name}`, formats: [name] }]),
      ),
      routes: CLIENTS.flatMap(name => {
        const paths = [false, true].map(stream => requestOf(name, '', stream).path.split('?')[0])
        return [...new Set(paths)].map(path => ({
          path: `POST ${path}`,
          translate: name,
          errors: ERRORS[formatOf(name).dialect],
          ...routeOptions,
        }))
      }),
    },
  )
  const ask = async (
    client: ClientFormat,
    target: string,
    request: string | Prompt,
    stream: boolean,
  ) => {
    const { path, body } = requestOf(client, request, stream)
    const response = await postTo(gateway + path, body, { 'x-target': target })
    const verdict = response.headers.get('x-tollgate-guard')
    return { status: response.status, text: await response.text(), verdict }
  }
  return {
    prompts,
    ask,
    answerWith(...next: readonly string[]) {
      pieces = next
    },
  }
}
/** The text of an answer in the format of the client. */
export const textIn = (name: ClientFormat, text: string, stream: boolean): string => {
  const codec = ownCodec(name)
  const collector = new Collector()
  const decoder = codec.decodeStream()
  if (stream)
    for (const event of eventsIn(Buffer.from(text)))
      if (event.data !== undefined) decoder.push(event, part => collector.add(part))
  const { choices } = stream ? collector.answer() : codec.decodeAnswer(JSON.parse(text))
  return choices
    .flatMap(({ content }) => content.map(each => ('text' in each ? each.text : '')))
    .join('')
}
