/** The guard of docs/plugins.md: it hides and refuses text in all formats of clients and targets,
 *  plain and streamed, also where a word lies in several events. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { errors } from '../../engine/errors.ts'
import type { Plugin, Stage } from '../../engine/plugin.ts'
import errorsPlugin from '../../plugins/errors.ts'
import type { Format } from '../../plugins/formats/format.ts'
import type { Answer, Part } from '../../plugins/formats/hub/answer.ts'
import { Collector, partsOf } from '../../plugins/formats/hub/answer-parts.ts'
import type { Codec, EncodeContext } from '../../plugins/formats/hub/codec.ts'
import type { Prompt } from '../../plugins/formats/hub/prompt.ts'
import { PARTS, PROMPT } from '../../plugins/formats/hub/slots.ts'
import { textOfPrompt } from '../../plugins/formats/hub/text.ts'
import { formats } from '../../plugins/formats/index.ts'
import { eventsIn } from '../../plugins/formats/stream/sse.ts'
import translate from '../../plugins/translate/index.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../helpers/gateway/test-server.ts'
import { cachedCommand, operatorEnv } from '../helpers/operator.ts'
import { blocksOf } from './blocks.ts'
import { exampleFiles, exampleOf } from './examples.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const CLIENTS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini'] as const
type ClientFormat = (typeof CLIENTS)[number]
const ERRORS = { openai: 'openai', anthropic: 'anthropic', google: 'google' }
const formatOf = (name: string): Format & { codec: Codec } =>
  formats.get(name) as Format & { codec: Codec }
/** The codecs of upstreams and clients, which are not counted. */
const OWN_CODECS = new Map(CLIENTS.map(name => [name as string, { ...formatOf(name).codec }]))
const ownCodec = (name: string): Codec => OWN_CODECS.get(name) as Codec
const IGNORE = { add() {} }

const promptOf = (text: string, stream: boolean): Prompt => ({
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
const requestOf = (name: ClientFormat, text: string, stream: boolean) =>
  ownCodec(name).encodePrompt(promptOf(text, stream), { name: 'm', traits: {} }, IGNORE)

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
  const url = await startHttpUpstream(t, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const [, name = '', path = ''] = /^\/([a-z-]+)(\/.*)$/.exec(request.url ?? '') ?? []
    const codec = ownCodec(name)
    const prompt = codec.decodePrompt(JSON.parse(Buffer.concat(chunks).toString()), path, IGNORE)
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

const arrange = async (t: Test, stages: Readonly<Record<string, Plugin>>, routeOptions: object) => {
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
  const ask = async (client: ClientFormat, target: string, text: string, stream: boolean) => {
    const { path, body } = requestOf(client, text, stream)
    const response = await fetch(gateway + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-target': target },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
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
const textIn = (name: ClientFormat, text: string, stream: boolean): string => {
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

const PIECES = ['It is se', 'cre', 't-42, sec', 'ret-4', '2 and secret-4', '1.'] as const
const WORDS = { refuse: 'forbidden', hide: 'secret-42' }

t.test('docs/plugins.md: the guard has at most 45 lines', t => {
  const guard = exampleFiles.find(({ file }) => file === 'plugins/guard.ts')
  t.ok(guard && guard.text.trimEnd().split('\n').length <= 45)
  t.end()
})

t.test(
  'docs/plugins.md: the test of the guard passes, and fails if the guard hides nothing',
  async t => {
    const test = blocksOf('docs/plugins.md').find(
      ({ file }) => file === 'test/plugins/guard.test.ts',
    )
    const guard = exampleFiles.find(({ file }) => file === 'plugins/guard.ts')
    const run = (guardText = '') => {
      const folder = t.testdir({
        plugins: { 'guard.ts': guardText, formats: t.fixture('symlink', `${ROOT}plugins/formats`) },
        engine: t.fixture('symlink', `${ROOT}engine`),
        test: {
          helpers: t.fixture('symlink', `${ROOT}test/helpers`),
          plugins: { 'guard.test.ts': test?.text ?? '' },
        },
      })
      const file = join(folder, 'test/plugins/guard.test.ts')
      return spawnSync(...cachedCommand(file), { env: operatorEnv(), encoding: 'utf8' })
    }
    const { status, stdout, stderr } = run(guard?.text)
    t.equal(status, 0, stdout + stderr)
    t.match(stdout, /^ok 2 /m)
    t.not(run(guard?.text.replace("return '[hidden]'", 'return match')).status, 0)
  },
)

t.test('docs/plugins.md: the guard hides words of prompts and answers', async t => {
  const guard = await exampleOf(t, 'guard')
  const { ask, answerWith, prompts } = await arrange(t, { guard }, { guard: WORDS })
  answerWith(...PIECES)
  for (const client of CLIENTS)
    for (const target of CLIENTS)
      for (const stream of [false, true]) {
        const name = `${client} at ${target}${stream ? ', streamed' : ''}`
        const { status, text } = await ask(client, target, 'Say secret-42 please.', stream)
        t.equal(status, 200, name)
        t.equal(textIn(client, text, stream), 'It is [hidden], [hidden] and secret-41.', name)
        t.notMatch(text, 'secret-42', name)
        t.equal(prompts.pop(), 'Say [hidden] please.', name)
      }
})

t.test('docs/plugins.md: the guard refuses prompts and answers', async t => {
  const guard = await exampleOf(t, 'guard')
  const { ask, answerWith, prompts } = await arrange(t, { guard }, { guard: WORDS })
  answerWith('That is for', 'bidden')
  for (const client of CLIENTS)
    for (const stream of [false, true]) {
      const name = `${client}${stream ? ', streamed' : ''}`
      const refusal = await ask(client, 'openai-chat', 'A forbidden question', stream)
      t.equal(refusal.status, 400, name)
      t.match(refusal.text, 'contains \\"forbidden\\"', name)
      t.equal(/"code":"content_filter"/.test(refusal.text), client.startsWith('openai'), name)
      t.same(prompts, [], 'nothing was sent')
      const answer = await ask(client, client, 'A question', stream)
      t.match(answer.text, 'contains \\"forbidden\\"', name)
      t.notMatch(answer.text, /bidden"[^"]*"(?:text|content|delta)"/, name)
      if (!stream) t.equal(answer.status, 400, name)
      prompts.length = 0
    }
})

/** Calls of the gateway's decoders while `run` runs. */
const decodesDuring = async (run: () => Promise<void>) => {
  const counts = { prompts: 0, answers: 0, streams: 0 }
  for (const name of CLIENTS) {
    const { decodePrompt, decodeAnswer, decodeStream } = ownCodec(name)
    Object.assign(formatOf(name).codec, {
      decodePrompt(...args: Parameters<Codec['decodePrompt']>) {
        counts.prompts++
        return decodePrompt(...args)
      },
      decodeAnswer(...args: Parameters<Codec['decodeAnswer']>) {
        counts.answers++
        return decodeAnswer(...args)
      },
      decodeStream() {
        counts.streams++
        return decodeStream()
      },
    })
  }
  try {
    await run()
  } finally {
    for (const name of CLIENTS) Object.assign(formatOf(name).codec, ownCodec(name))
  }
  return counts
}

t.test('PARTS and PROMPT: nothing is decoded while no stage listens', async t => {
  const behind: Stage = {
    handle({ slots }, next) {
      slots.need(PROMPT)
      slots.need(PARTS)
      return next()
    },
  }
  const { ask, answerWith } = await arrange(t, { behind: pluginOf(behind) }, {})
  answerWith('Hello')
  const counts = await decodesDuring(async () => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) await ask(client, client, 'Hi', stream)
  })
  t.same(counts, { prompts: 0, answers: 0, streams: 0 })
})

t.test('PARTS and PROMPT: a watched call is decoded once, and its bytes pass', async t => {
  let texts: string[] = []
  let listens = false
  const watch: Stage = {
    handle({ slots }, next) {
      if (!listens) return next()
      slots.need(PROMPT).watch(prompt => void texts.push(textOfPrompt(prompt)))
      slots.need(PARTS).watch(part => void (part.type === 'grow' && texts.push(part.text)))
      return next()
    },
  }
  const { ask, answerWith } = await arrange(t, { watch: pluginOf(watch) }, {})
  answerWith('One ', 'and two.')
  for (const client of CLIENTS)
    for (const stream of [false, true]) {
      const name = `${client}${stream ? ', streamed' : ''}`
      listens = false
      const before = await ask(client, client, 'Hi', stream)
      listens = true
      texts = []
      let after = before
      const counts = await decodesDuring(async () => {
        after = await ask(client, client, 'Hi', stream)
      })
      t.same(after, before, `${name}: every byte is the same`)
      t.equal(texts.join(''), 'HiOne and two.', name)
      t.same(counts, { prompts: 1, answers: stream ? 0 : 1, streams: stream ? 1 : 0 }, name)
    }
})

t.test('PARTS and PROMPT: a watcher that throws refuses the request or the answer', async t => {
  const refusal = errors({ SEEN: [403, 'It was seen.'] })
  let where: 'prompt' | 'answer' = 'prompt'
  const watch: Stage = {
    handle({ slots }, next) {
      slots.need(PROMPT).watch(() => {
        if (where === 'prompt') throw refusal('SEEN')
      })
      slots.need(PARTS).watch(part => {
        if (where === 'answer' && part.type === 'grow') throw refusal('SEEN')
      })
      return next()
    },
  }
  const { ask, answerWith, prompts } = await arrange(t, { watch: pluginOf(watch) }, {})
  answerWith('One ', 'and two.')
  for (const client of CLIENTS)
    for (const stream of [false, true]) {
      where = 'prompt'
      t.equal((await ask(client, client, 'Hi', stream)).status, 403, client)
      t.same(prompts, [], 'nothing was sent')
      where = 'answer'
      const { text } = await ask(client, client, 'Hi', stream)
      t.match(text, 'It was seen.', client)
      t.notMatch(text, 'and two', client)
      prompts.length = 0
    }
})
