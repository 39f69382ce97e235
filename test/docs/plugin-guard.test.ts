/** The guard of docs/plugins.md: it hides and refuses text in all formats of clients and targets,
 *  plain and streamed, also where a word lies in several events. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { errors } from '../../engine/errors.ts'
import type { Stage } from '../../engine/plugin.ts'
import type { Codec } from '../../plugins/formats/hub/codec.ts'
import { PARTS, PROMPT } from '../../plugins/formats/hub/slots.ts'
import { textOfPrompt } from '../../plugins/formats/hub/text.ts'
import {
  arrange,
  CLIENTS,
  formatOf,
  ownCodec,
  textIn,
} from '../helpers/formats/listening-gateway.ts'
import { pluginOf } from '../helpers/gateway/test-server.ts'
import { cachedCommand, operatorEnv } from '../helpers/operator.ts'
import { blocksOf } from './blocks.ts'
import { exampleFiles, exampleOf } from './examples.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const PIECES = ['It is se', 'cre', 't-42, sec', 'ret-4', '2 and secret-4', '1.'] as const
const WORDS = { refuse: 'forbidden', hide: 'secret-42' }

t.test('docs/plugins.md: the guard has at most 45 lines', t => {
  const guard = exampleFiles.find(({ file }) => file === 'plugins/word-filter.ts')
  t.ok(guard && guard.text.trimEnd().split('\n').length <= 45)
  t.end()
})

t.test(
  'docs/plugins.md: the test of the guard passes, and fails if the guard hides nothing',
  async t => {
    const test = blocksOf('docs/plugins.md').find(
      ({ file }) => file === 'test/plugins/word-filter.test.ts',
    )
    const guard = exampleFiles.find(({ file }) => file === 'plugins/word-filter.ts')
    const run = (guardText = '') => {
      const folder = t.testdir({
        plugins: {
          'word-filter.ts': guardText,
          formats: t.fixture('symlink', `${ROOT}plugins/formats`),
        },
        engine: t.fixture('symlink', `${ROOT}engine`),
        test: {
          helpers: t.fixture('symlink', `${ROOT}test/helpers`),
          plugins: { 'word-filter.test.ts': test?.text ?? '' },
        },
      })
      const file = join(folder, 'test/plugins/word-filter.test.ts')
      return spawnSync(...cachedCommand(file), { env: operatorEnv(), encoding: 'utf8' })
    }
    const { status, stdout, stderr } = run(guard?.text)
    t.equal(status, 0, stdout + stderr)
    t.match(stdout, /^ok 2 /m)
    t.not(run(guard?.text.replace("return '[hidden]'", 'return match')).status, 0)
  },
)

t.test('docs/plugins.md: the guard hides words of prompts and answers', async t => {
  const guard = await exampleOf(t, 'word-filter')
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
  const guard = await exampleOf(t, 'word-filter')
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
