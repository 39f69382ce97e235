/** Guards in every format of clients and targets, plain and streamed, with texts that are split
 *  anywhere; calls of tools; webhooks; wrong options. */
import t, { type Test } from 'tap'
import type { Document, Json, Plugin } from '../../../engine/plugin.ts'
import { FINDERS } from '../../../plugins/finders/index.ts'
import type { Part } from '../../../plugins/formats/hub/answer.ts'
import type { Prompt } from '../../../plugins/formats/hub/prompt.ts'
import { changeMatches, mapPromptText, replaceMatches } from '../../../plugins/formats/hub/text.ts'
import guardPlugin from '../../../plugins/guard/index.ts'
import { labelsIn } from '../../../plugins/guard/model-decision.ts'
import translate from '../../../plugins/translate/index.ts'
import { fakeHost, type HostOptions } from '../../../program/exports/testing.ts'
import {
  arrange,
  CLIENTS,
  ownCodec,
  promptOf,
  textIn,
} from '../../helpers/formats/listening-gateway.ts'
import { assistant, geminiUser, user } from '../../helpers/formats/request-parts.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { faultsOf } from '../../helpers/gateway/test-server.ts'

const guard = guardPlugin as Plugin
const startGuarded = (t: Test, guards: object, names: string | readonly string[] = 'own') =>
  arrange(t, { guard }, { guard: names }, { guards } as unknown as Document)
/** How many answers a format is requests for at each position of a split. */
const ANSWER = 'Write to bob@example.org, or pay 4111 1111 1111 1111 now.'

t.test('guard: answers that are split anywhere are masked, in every format', async t => {
  const own = { find: ['email', 'card'], on: 'answer', do: 'mask' }
  const { ask, answerWith } = await startGuarded(t, { own })
  for (const client of CLIENTS)
    for (let cut = 1; cut < ANSWER.length; cut++) {
      answerWith(ANSWER.slice(0, cut), ANSWER.slice(cut))
      const target = CLIENTS[cut % CLIENTS.length] ?? client
      const { text } = await ask(client, target, 'Hi', true)
      const name = `${client} at ${target}, cut at ${cut}`
      t.equal(textIn(client, text, true), 'Write to [EMAIL_1], or pay [CARD_1] now.', name)
      // A random id may contain the digits among its letters.
      t.notMatch(text, /bob@|\b1111\b/, name)
    }
})

t.test('guard: one character an event, plain answers, and requests', async t => {
  const own = { find: ['email', 'card'], do: 'mask' }
  const { ask, answerWith, prompts } = await startGuarded(t, { own })
  answerWith(...ANSWER)
  for (const client of CLIENTS)
    for (const target of CLIENTS)
      for (const stream of [false, true]) {
        const name = `${client} at ${target}${stream ? ', streamed' : ''}`
        const { text, verdict } = await ask(client, target, 'I am ann@example.com.', stream)
        t.equal(textIn(client, text, stream), 'Write to [EMAIL_2], or pay [CARD_1] now.', name)
        t.equal(prompts.pop(), 'I am [EMAIL_1].', name)
        t.match(verdict, /^own=masked\([1-3]\)$/, name)
      }
})

t.test('guard: long requests are searched whole, and sent whole', async t => {
  const { ask, answerWith, prompts } = await startGuarded(t, { own: { find: 'email', do: 'mask' } })
  answerWith('Hello')
  const before = 'word '.repeat(40_000)
  for (const client of CLIENTS) {
    await ask(client, client, `${before}ann@example.com ${before}`, false)
    t.equal(prompts.pop(), `${before}[EMAIL_1] ${before}`, client)
  }
})

t.test('guard: placeholders of the request become the texts again', async t => {
  const own = { find: 'email', do: 'mask', restore: true }
  const { ask, answerWith, prompts } = await startGuarded(t, { own })
  answerWith('Dear [EMA', 'IL_1], [EMAIL_2] and ', '[NOTE] eve@evil.test')
  for (const client of CLIENTS)
    for (const stream of [false, true]) {
      const { text } = await ask(client, 'openai-chat', 'I am ann@example.com.', stream)
      t.equal(prompts.pop(), 'I am [EMAIL_1].')
      // The address that the model invented stays masked.
      t.equal(
        textIn(client, text, stream),
        'Dear ann@example.com, [EMAIL_2] and [NOTE] [EMAIL_2]',
        `${client} ${stream}`,
      )
    }
})

t.test('guard: block refuses requests before they are sent, and answers', async t => {
  const own = { words: ['falcon'], patterns: { ticket: 'TCK-[0-9]{6}' }, do: 'block' }
  const { ask, answerWith, prompts } = await startGuarded(t, { own })
  answerWith('The ticket is TCK-12', '3456.')
  for (const client of CLIENTS)
    for (const stream of [false, true]) {
      const name = `${client}${stream ? ', streamed' : ''}`
      const refusal = await ask(client, 'openai-chat', 'Tell me of the Falcon', stream)
      t.equal(refusal.status, 400, name)
      t.match(refusal.text, 'does not allow this request', name)
      t.equal(refusal.verdict, 'own=blocked', name)
      t.notMatch(refusal.text, /falcon|TCK/i, 'the text is not repeated')
      t.same(prompts, [], 'nothing was sent')
      const answer = await ask(client, client, 'Hi', stream)
      t.match(answer.text, 'does not allow this answer', name)
      t.notMatch(answer.text, 'TCK', name)
      if (!stream) t.equal(answer.status, 400, name)
      prompts.length = 0
    }
})

t.test('guard: answers that are split anywhere are blocked, and restored', async t => {
  const SECRET = 'The ticket is TCK-123456 now.'
  const own = { patterns: { ticket: 'TCK-[0-9]{6}' }, on: 'answer', do: 'block' }
  const blocking = await startGuarded(t, { own })
  for (let cut = 1; cut < SECRET.length; cut++) {
    blocking.answerWith(SECRET.slice(0, cut), SECRET.slice(cut))
    for (const [index, client] of CLIENTS.entries()) {
      const target = CLIENTS[(cut + index) % CLIENTS.length] ?? client
      const { text } = await blocking.ask(client, target, 'Hi', true)
      t.match(text, 'does not allow this answer', `${client} at ${target}, cut at ${cut}`)
      t.notMatch(text, /TCK|123456/)
    }
  }
  const DEAR = 'Dear [EMAIL_1], é[EMAIL_1]'
  const restoring = await startGuarded(t, { own: { find: 'email', do: 'mask', restore: true } })
  for (let cut = 1; cut < DEAR.length; cut++) {
    restoring.answerWith(DEAR.slice(0, cut), DEAR.slice(cut))
    for (const [index, client] of CLIENTS.entries()) {
      const target = CLIENTS[(cut + index) % CLIENTS.length] ?? client
      const { text } = await restoring.ask(client, target, 'I am ann@example.com.', true)
      t.equal(
        textIn(client, text, true),
        DEAR.replaceAll('[EMAIL_1]', 'ann@example.com'),
        `${client} at ${target}, cut at ${cut}`,
      )
    }
  }
})

t.test('guard: flag and shadow change nothing', async t => {
  const { ask, answerWith, prompts } = await startGuarded(
    t,
    { flags: { find: 'email', do: 'flag' }, silent: { find: 'email', do: 'shadow' } },
    ['flags', 'silent'],
  )
  answerWith('To bob@example.org')
  const { text, verdict } = await ask('openai-chat', 'openai-chat', 'a@example.com', false)
  t.equal(textIn('openai-chat', text, false), 'To bob@example.org')
  t.equal(prompts.pop(), 'a@example.com')
  t.match(verdict, /^flags=flagged\([12]\)$/, 'a shadow is in the log only')
})

t.test('guard: the input of a call waits for the verdict, escapes hide nothing', t => {
  const replace = () => '[EMAIL_1]'
  const finder = { find: FINDERS.email.find, openFrom: FINDERS.email.openFrom }
  const run = (pieces: readonly string[]): readonly Part[] => {
    const step = changeMatches(finder, replace)
    const parts: Part[] = []
    const push = (part: Part) => step(part, each => void parts.push(each))
    const call = { type: 'call', id: 'c', name: 'send', input: '' } as const
    push({ type: 'open', index: 0, choice: 0, content: call })
    for (const text of pieces) push({ type: 'grow', index: 0, text })
    t.equal(parts.length, 1, 'nothing is sent before the call is complete')
    push({ type: 'close', index: 0 })
    return parts
  }
  const inputOf = (...pieces: readonly string[]) =>
    run(pieces)
      .map(part => (part.type === 'grow' ? part.text : ''))
      .join('')
  t.equal(inputOf('{"to": "ann@', 'example.com"}'), '{"to": "[EMAIL_1]"}')
  t.equal(inputOf('{"to":"ann\\u0040example.com"}'), '{"to":"[EMAIL_1]"}')
  t.equal(inputOf('{"ann@example.com": 1}'), '{"[EMAIL_1]": 1}')
  t.equal(inputOf('{"a": 1 }'), '{"a": 1 }', 'unchanged if nothing matches')
  t.equal(inputOf('{"a": "x@y.com'), '{"a": "[EMAIL_1]', 'a call that the model cut')
  t.equal(inputOf('{"a":"x\\u0040y.com'), '{"a":"[EMAIL_1]', 'a cut call, with an escape')
  t.equal(inputOf('{"a": x@y.com, "b": "\\'), '{"a": [EMAIL_1], "b": "\\', 'no JSON')
  t.equal(inputOf('{"a":"x@y.com","a":"b"}'), '{"a":"[EMAIL_1]","a":"b"}', 'a name twice')
  const nested = `${'['.repeat(50_000)}"x@y.com"${']'.repeat(50_000)}`
  t.equal(inputOf(nested), nested.replace('x@y.com', '[EMAIL_1]'), 'however deep')
  t.end()
})

t.test('guard: results of tools and inputs of calls are searched, in every format', async t => {
  const own = { find: 'email', words: ['falcon'], do: 'mask' }
  const masking = await startGuarded(t, { own })
  const blocking = await startGuarded(t, { own: { ...own, do: 'block' } })
  const conversation = (input: string, result: string): Prompt => ({
    ...promptOf('Look it up.', false),
    tools: [{ type: 'function', name: 'find', schema: { type: 'object' } }],
    turns: [
      user({ type: 'text', text: 'Look it up.' }),
      assistant({ type: 'call', id: 'call_1', name: 'find', input }),
      user({ type: 'result', id: 'call_1', content: [{ type: 'text', text: result }] }),
    ],
  })
  const RESULT = 'It is ann@example.com of Falcon.'
  for (const client of CLIENTS)
    for (const target of CLIENTS)
      for (const stream of [false, true]) {
        const name = `${client} at ${target}${stream ? ', streamed' : ''}`
        masking.answerWith('Done.')
        const prompt = conversation('{"who":"bob@example.org"}', RESULT)
        const { status, verdict } = await masking.ask(client, target, prompt, stream)
        t.equal(status, 200, name)
        const forwarded = masking.prompts.pop() ?? ''
        t.match(forwarded, 'It is [EMAIL_2] of [WORD_1].', name)
        t.match(forwarded, '[EMAIL_1]', name)
        t.notMatch(forwarded, /ann@|bob@|falcon/i, name)
        t.equal(verdict, 'own=masked(3)', name)
        const refusal = await blocking.ask(client, target, conversation('{}', RESULT), stream)
        t.equal(refusal.status, 400, name)
        t.same(blocking.prompts, [], 'nothing was sent')
      }
})

t.test('guard: numbers of a call are searched as they are written', t => {
  const prompt = (input: string): Prompt => ({
    turns: [assistant({ type: 'call', id: 'c', name: 'pay', input })],
    tools: [],
    settings: {},
    stream: false,
    includeUsage: false,
    body: {},
  })
  const inputOf = (input: string) => {
    const mapped = mapPromptText(prompt(input), text =>
      replaceMatches(text, FINDERS.card, () => 'X'),
    )
    const [content] = mapped.turns[0]?.content ?? []
    return content?.type === 'call' ? content.input : undefined
  }
  t.equal(inputOf('{"card":4111111111111111}'), '{"card":"X"}')
  t.equal(inputOf('{"card":4.111111111111111e15}'), '{"card":"X"}')
  t.equal(inputOf('{"card":6304000000000000000}'), '{"card":"X"}', 'with all its digits')
  t.equal(inputOf('{"id":12345678901234567890}'), '{"id":12345678901234567890}')
  t.end()
})

t.test('guard: documents that are texts are searched, whatever type they claim', t => {
  const base64Of = (text: string) => Buffer.from(text).toString('base64')
  const mask = (text: string) => replaceMatches(text, FINDERS.email, () => '[EMAIL_1]')
  const documentIn = (name: string, path: string, body: Json) => {
    const prompt = ownCodec(name).decodePrompt(body as never, path, { add() {} })
    const [content] = mapPromptText(prompt, mask).turns[0]?.content ?? []
    return content?.type === 'media' && content.source.type === 'data'
      ? Buffer.from(content.source.data, 'base64').toString()
      : content
  }
  const bodies = (mime: string, data: string): [name: string, part: Json][] => {
    const url = `data:${mime};base64,${data}`
    return [
      ['openai-chat', { type: 'file', file: { filename: 'a.txt', file_data: url } }],
      ['openai-responses', { type: 'input_file', filename: 'a.txt', file_data: url }],
      ['google-gemini', { inlineData: { mimeType: mime, data } }],
    ]
  }
  for (const mime of ['text/plain', 'text/csv', 'application/json', 'application/pdf'])
    for (const text of ['I am ann@example.com.', '%PDF-1.7 ann@example.com'])
      for (const [name, part] of bodies(mime, base64Of(text))) {
        const [members, path] =
          name === 'google-gemini'
            ? [{ contents: [geminiUser(part)] }, '/v1beta/models/m:generateContent']
            : [{ model: 'm', [name === 'openai-chat' ? 'messages' : 'input']: [user(part)] }, '']
        const expected = text.startsWith('%PDF') ? text : mask(text)
        t.equal(documentIn(name, path, members), expected, `${name} ${mime} ${text}`)
      }
  t.end()
})

t.test('guard: a placeholder stands for one text, also of several guards', async t => {
  const guards = {
    one: { words: ['falcon'], do: 'mask', restore: true },
    two: { words: ['eagle'], do: 'mask', restore: true },
  }
  const { ask, answerWith, prompts } = await startGuarded(t, guards, ['one', 'two'])
  answerWith('[WORD_1] [WORD_2] [WORD_3]')
  for (const client of CLIENTS)
    for (const stream of [false, true]) {
      const { text } = await ask(client, client, 'falcon, eagle, [WORD_1]', stream)
      t.equal(prompts.pop(), '[WORD_2], [WORD_3], [WORD_1]', client)
      t.equal(textIn(client, text, stream), '[WORD_1] falcon eagle', client)
    }
})

t.test('guard: invisible characters and full-width forms hide nothing', async t => {
  const own = { find: ['email', 'card'], words: ['falcon'], do: 'mask' }
  const { ask, answerWith, prompts } = await startGuarded(t, { own })
  const text = 'ann＠exam\u200bple.com, ４111 1111 11\u00ad11 1111, fal\u2060con, ＯＫ'
  const masked = '[EMAIL_1], [CARD_1], [WORD_1], ＯＫ'
  answerWith(...text)
  for (const client of CLIENTS)
    for (const stream of [false, true]) {
      const answer = await ask(client, 'openai-chat', text, stream)
      t.equal(prompts.pop(), masked, client)
      t.equal(textIn(client, answer.text, stream), masked, `${client} ${stream}`)
    }
})

t.test('guard: a webhook passes, masks, blocks or fails', async t => {
  let reply: { status: number; body: unknown } = { status: 200, body: { action: 'pass' } }
  const requests: unknown[] = []
  const url = await startTextUpstream(t, (text, response) => {
    requests.push(JSON.parse(text))
    response.writeHead(reply.status).end(JSON.stringify(reply.body))
  })
  const webhook = `${url}/check`
  const gatewayWith = (options: object) => startGuarded(t, { own: { webhook, ...options } })

  const masking = await gatewayWith({ do: 'mask', on_error: 'pass' })
  masking.answerWith('Hello')
  const ask = (gateway: typeof masking) => gateway.ask('openai-chat', 'openai-chat', 'One', false)
  t.equal((await ask(masking)).status, 200)
  t.match(requests.pop(), { guard: 'own', texts: ['One'] })
  reply = { status: 200, body: { action: 'mask', texts: ['Two'] } }
  await ask(masking)
  t.equal(masking.prompts.pop(), 'Two')
  for (const wrong of [
    { status: 500, body: {} },
    { status: 200, body: { action: 'maybe' } },
    { status: 200, body: { action: 'mask', texts: [] } },
  ]) {
    reply = wrong
    t.equal((await ask(masking)).status, 200, JSON.stringify(wrong))
  }
  for (const status of [400, 413, 422]) {
    reply = { status, body: {} }
    t.equal((await ask(masking)).status, 400, `${status}: it refuses the texts`)
  }
  reply = { status: 500, body: {} }
  const blocking = await gatewayWith({ do: 'block', on_error: 'block' })
  t.equal((await ask(blocking)).status, 503, 'it failed, and must decide')
  reply = { status: 200, body: { action: 'block' } }
  t.equal((await ask(blocking)).status, 400)
  t.equal((await ask(masking)).status, 400, 'a guard that masks obeys a webhook that blocks')
  t.same(masking.prompts.splice(0).slice(-1), ['One'], 'the request before it was the last sent')
  reply = { status: 200, body: { action: 'mask', texts: ['Two'] } }
  t.equal((await ask(blocking)).status, 400, 'a guard that blocks does not mask')
  t.same(blocking.prompts, [])
  const both = await gatewayWith({ do: 'block', on_error: 'block', on: ['request', 'answer'] })
  both.answerWith('Hel', 'lo')
  reply = { status: 200, body: { action: 'pass' } }
  requests.length = 0
  t.equal((await ask(both)).status, 200)
  t.match(requests, [
    { on: 'request', texts: ['One'] },
    { on: 'answer', texts: ['Hello'] },
  ])
  requests.length = 0
  const bounded = await gatewayWith({ do: 'block', on_error: 'pass', max_bytes: '2B' })
  bounded.answerWith('Hello')
  const tooLong = await ask(bounded)
  t.equal(tooLong.status, 400, 'padding passes no guard, whatever on_error says')
  t.match(tooLong.text, 'it is longer than the guard reads')
  t.same([bounded.prompts, requests], [[], []])
  const ofAnswers = await gatewayWith({
    do: 'block',
    on_error: 'pass',
    on: 'answer',
    max_bytes: '4B',
  })
  ofAnswers.answerWith('Hel', 'lo')
  for (const stream of [false, true]) {
    const { text } = await ofAnswers.ask('openai-chat', 'openai-chat', 'One', stream)
    t.match(text, 'does not allow this answer: it is longer')
    t.notMatch(text, 'Hel')
  }
  t.same(requests, [])
  const flagging = await gatewayWith({ do: 'flag', on_error: 'pass' })
  flagging.answerWith('Hello')
  for (const action of ['mask', 'block']) {
    reply = { status: 200, body: { action, texts: ['Two'] } }
    t.match(await ask(flagging), { status: 200, verdict: 'own=flagged(1)' }, action)
    t.equal(flagging.prompts.pop(), 'One', action)
  }
})

t.test('guard: wrong options are problems', async t => {
  const codesOf = async (guards: object, route: object = { translate: 'openai-chat' }) => {
    const document = {
      guards,
      upstreams: { up: { url: 'http://127.0.0.1:9', formats: ['openai-chat'] } },
      routes: [{ path: 'POST /v1/chat/completions', upstream: 'up', guard: 'own', ...route }],
    } as unknown as Document
    const problems: string[] = []
    guardPlugin.check(document, (_, code, message) => void problems.push(`${code} ${message}`))
    if (problems.length > 0) return problems.join()
    const faults = await faultsOf({ translate: translate as Plugin, guard }, document)
    return faults.map(({ code, message }) => `${code} ${message}`).join()
  }
  const ok = { find: 'email', do: 'mask' }
  t.equal(await codesOf({ own: ok }), '')
  t.match(await codesOf({ owm: ok }), /GUARD_UNKNOWN no guard is named "own"/)
  t.match(await codesOf({ own: { do: 'block' } }), /it finds nothing/)
  t.match(await codesOf({ own: { webhook: 'http://a', do: 'block' } }), /on_error/)
  t.match(await codesOf({ own: { ...ok, do: 'flag', restore: true } }), /only `do: mask`/)
  t.match(await codesOf({ own: { patterns: { a: '(' }, do: 'flag' } }), /refused by RE2/)
  t.match(await codesOf({ own: { patterns: { a: 'x*' }, do: 'flag' } }), /empty text/)
  t.match(await codesOf({ own: ok }, {}), /^GUARD_ROUTE .*needs `translate:` or `realtime:`/)
  const model = { model: 'm', prompt: 'No.', do: 'block', timeout: '1s', on_error: 'pass' }
  const modelCodes = (options: object) => {
    const problems: string[] = []
    const own = { ...model, ...options }
    guardPlugin.check(
      { guards: { own }, models: { m: { to: 'up', free: true } }, routes: [] } as never,
      (where, code, message) => void problems.push(`${where.join('.')} ${code} ${message}`),
    )
    return problems.join()
  }
  t.equal(modelCodes({}), '')
  for (const [options, problem] of [
    [{ model: 'n' }, /guards.own.model GUARD_OPTION no model is named "n"/],
    [{ timeout: undefined }, /own.model GUARD_OPTION say with `timeout`/],
    [{ on_error: undefined }, /own.model GUARD_OPTION say with `on_error/],
    [{ prompt: undefined }, /own.model GUARD_OPTION say by `prompt` or `labels`/],
    [{ do: 'mask' }, /own.do GUARD_OPTION a model decides and cannot mask/],
    [{ webhook: 'http://a' }, /own.webhook GUARD_OPTION a guard has a webhook or a model/],
    [{ model: undefined, find: 'email' }, /own.prompt GUARD_OPTION only `model:` reads it/],
    [
      { model: undefined, prompt: undefined, find: 'email', labels: { a: 'b' } },
      /own.labels GUARD_OPTION only `model:` reads them/,
    ],
  ] as const)
    t.match(modelCodes(options), problem)
  t.match(
    await codesOf({ own: { webhook: 'http://a', do: 'mask', on: 'answer', on_error: 'pass' } }),
    /cannot mask answers/,
  )
  const webhook = { webhook: 'http://a', do: 'block', on_error: 'pass' }
  const live = { realtime: true, path: 'WS /v1/realtime' }
  t.match(
    await codesOf({ own: { ...webhook, on: ['request', 'answer'] } }, live),
    /GUARD_REALTIME "own" cannot decide about answers of realtime sessions/,
  )
  t.equal(await codesOf({ own: { ...webhook, on: 'answer' } }), '')
  t.equal(await codesOf({ own: webhook }, live), '')
  t.match(await codesOf({ own: { find: 'email', do: 'flag', max_bytes: '1KiB' } }), /any length/)
  const places: string[] = []
  guardPlugin.check(
    { guards: { own: ok }, routes: [{ guard: 'pi' }, { guard: ['own', 'pi'] }] } as never,
    where => void places.push(where.join('.')),
  )
  t.same(places, ['routes.0.guard', 'routes.1.guard.1'], 'the entry of a list, not the whole list')
  t.match(
    await codesOf({ own: { words_file: 'none.txt', do: 'flag' } }),
    /^GUARD_OPTION guards\.own\.words_file: cannot read none\.txt: /,
  )
  const own = { words_file: 'words.txt', do: 'flag' }
  const route = { option: (name: string) => (name === 'translate' ? 'openai-chat' : undefined) }
  const hostWith = (text: string) =>
    fakeHost({ files: { 'words.txt': text }, document: { guards: { own } }, route } as HostOptions)
  for (const text of ['', '\n \n'])
    t.throws(() => guardPlugin.setup('own', hostWith(text)), {
      code: 'GUARD_OPTION',
      message: /words\.txt has no words; write one on each line/,
    })
  const host = hostWith('falcon\n\nproject x\n')
  for (const options of ['own', ['own'], 'own']) guardPlugin.setup(options, host)
  t.same(host.createdKeys, ['guard/own'], 'a list of words is compiled once for all routes')
})

t.test('guard: the verdict of a model is the JSON object in its text', async t => {
  const read = (text: string) =>
    labelsIn(
      { choices: [{ content: [{ type: 'text', text }], stop: { reason: 'end' } }] } as never,
      ['a'],
    )
  t.same(read('Sure: ```{"labels":["a"]}```'), ['a'])
  // A search that is quadratic would take an hour.
  for (const text of ['', 'no', '}{', 'a}', '{'.repeat(1_000_000)])
    t.throws(() => read(text), /has no JSON object/, text.slice(0, 9))
  t.throws(() => read('{"labels":}'), /is not JSON/)
})
