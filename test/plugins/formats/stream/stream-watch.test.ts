/** Streams that pass through unchanged: their usage, their end, and every way in which the end can
 *  be missing. */
import t, { type Test } from 'tap'
import { TollgateError } from '../../../../engine/errors.ts'
import type { Bytes } from '../../../../engine/plugin.ts'
import { FilteredReply } from '../../../../engine/response/filters.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Format } from '../../../../plugins/formats/format.ts'
import { formats } from '../../../../plugins/formats/index.ts'
import { StreamFilter, watchedMarksOf } from '../../../../plugins/formats/stream/stream-watch.ts'
import { recordedFormat, recordings } from '../../../helpers/formats/recordings.ts'
import { responseListener } from '../../../helpers/formats/response-listener.ts'
import { type ReadReply, readReply, sourceOf } from '../../../helpers/gateway/fake-exchange.ts'

const CONNECTION_FAULT = new TollgateError('TARGET_CUT', 502, 'It broke.')

interface WatchedOutput extends ReadReply {
  readonly counts: Fields | undefined
  readonly isComplete: boolean | undefined
  readonly usageReports: number
  readonly hasBroken: boolean
  /** The code of the fault that ends the reply. */
  readonly faultCode: string | undefined
}
const formatOf = (name: string): Format => {
  const format = formats.get(name)
  if (!format) throw new Error(name)
  return format
}
/** Runs a stream through a watcher in chunks; `breaks` fails it after the last one. */
const watch = async (
  name: string,
  text: string | Bytes,
  { piece = 1_000_000, dies: breaks = false } = {},
): Promise<WatchedOutput> => {
  let counts: Fields | undefined
  let isComplete: boolean | undefined
  let usage = 0
  let hasBroken = false
  const bytes = Buffer.from(text)
  const pieces = []
  for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece))
  const answer = new FilteredReply(
    200,
    {},
    undefined,
    sourceOf(pieces, breaks ? CONNECTION_FAULT : undefined),
  )
  answer.through(
    new StreamFilter(
      watchedMarksOf(formatOf(name)),
      responseListener({
        onUsage(reported, complete) {
          counts = reported.counts
          isComplete = complete
          usage++
        },
        encodeFailure: (reason, last) =>
          Buffer.from(`<${reason.code} after ${last?.data ?? 'nothing'}>`),
        onBroken() {
          hasBroken = true
        },
      }),
    ),
  )
  const output = await readReply(answer)
  return {
    ...output,
    counts,
    isComplete: isComplete,
    usageReports: usage,
    hasBroken,
    faultCode: answer.endFault?.code,
  }
}

const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`
const STREAMS: Readonly<Record<string, { body: string; end: string; counts: object }>> = {
  'openai-chat': {
    body: `${chunk({ role: 'assistant' })}${chunk({ content: 'Grüß [DONE] "usage"' })}data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\n`,
    end: 'data: [DONE]\n\n',
    counts: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
  'openai-responses': {
    body: 'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"usage":null}}\n\nevent: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":1,"delta":"response.completed\\"response\\":"}\n\n',
    end: 'event: response.completed\ndata: {"type":"response.completed","sequence_number":2,"response":{"usage":{"input_tokens":3,"output_tokens":2}}}\n\n',
    counts: { input_tokens: 3, output_tokens: 2 },
  },
  'anthropic-messages': {
    body: 'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}\n\nevent: ping\ndata: {"type": "ping"}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"message_stop"}}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{},"usage":{"output_tokens":9}}\n\n',
    end: 'event: message_stop\ndata: {"type":"message_stop"      }\n\n',
    counts: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 9 },
  },
  'google-gemini': {
    body: 'data: {"candidates":[{"content":{"parts":[{"text":"finishReason\\""}]}}],"usageMetadata":{"promptTokenCount":3,"trafficType":"A"}}\r\n\r\n',
    end: 'data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}\r\n\r\n',
    counts: { promptTokenCount: 3, candidatesTokenCount: 2 },
  },
}

for (const [name, { body, end, counts }] of Object.entries(STREAMS)) {
  t.test(`${name} stream: passes unchanged in chunks of every size`, async t => {
    for (const piece of [1, 2, 3, 7, 50, 1_000_000]) {
      const result = await watch(name, body + end, { piece })
      t.equal(result.text, body + end, `every byte, ${piece} at a time`)
      t.equal(result.tail, end, 'the last event is held back as the tail')
      t.match(result.counts, counts)
      t.equal(result.isComplete, true)
      t.equal(result.usageReports, 1, 'usage is reported once')
      t.notOk(result.hasBroken)
      t.notOk(result.faultCode)
    }
  })

  t.test(`${name} stream: bytes after the end belong to the tail`, async t => {
    for (const more of ['\n', ': bye\n\n', 'data: {"late":true}\n\n'])
      for (const piece of [5, 1_000_000]) {
        const result = await watch(name, body + end + more, { piece })
        // Some formats drop data after the terminator, which their clients do not read.
        const isDropped = more.startsWith('data') && formatOf(name).stream.afterEnd === 'dropped'
        t.equal(result.text, isDropped ? body + end : body + end + more)
        t.equal(result.fault, undefined)
      }
  })

  t.test(`${name} stream: a connection error after the end does not fail it`, async t => {
    const result = await watch(name, body + end, { dies: true })
    if (formatOf(name).stream.afterEnd === 'same') {
      t.match(result.text, /<TARGET_CUT after .*>$/s, 'more could have come')
      t.equal(result.hasBroken, true)
      return
    }
    t.equal(result.text, body + end)
    t.equal(result.isComplete, true)
  })

  t.test(`${name} stream: a connection error in mid-stream becomes an error event`, async t => {
    const [wholeEvents = ''] = /^.*?\r?\n\r?\n/s.exec(body) ?? []
    for (const [how, text, breaks] of [
      ['between events', wholeEvents, true],
      ['inside the last event', wholeEvents + end.slice(0, -10), true],
      ['by a clean close', wholeEvents, false],
    ] as const) {
      const result = await watch(name, text, { dies: breaks, piece: 9 })
      const code = breaks ? 'TARGET_CUT' : 'UPSTREAM_TRUNCATED'
      t.ok(result.text.startsWith(wholeEvents), `${how}: what was whole has arrived`)
      t.match(result.text.slice(wholeEvents.length), new RegExp(`^<${code} after .*>$`, 's'), how)
      t.equal(result.fault, undefined)
      t.equal(result.isComplete, false, 'the usage is not final')
      t.ok(result.hasBroken)
      t.ok(result.faultCode, 'the stream counts as broken')
    }
  })

  t.test(`${name} stream: an early connection error is a fault of its own`, async t => {
    for (const text of ['', body.slice(0, 10)]) {
      t.equal((await watch(name, text, { dies: true })).fault?.code, 'TARGET_CUT')
      t.equal((await watch(name, text)).fault?.code, 'UPSTREAM_TRUNCATED')
    }
  })

  t.test(`${name} stream: the last blank line may be missing`, async t => {
    const text = body + end.trimEnd()
    const result = await watch(name, text, { piece: 4 })
    t.equal(result.text, text)
    t.match(result.counts, counts)
  })
}

const passes = async (t: Test, name: string, text: string): Promise<void> => {
  const result = await watch(name, text, { piece: 11 })
  t.equal(result.text, text)
  t.equal(result.fault, undefined)
}
t.test('stream without terminator: is complete if it has a stop reason', async t => {
  const stop = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
  await passes(t, 'openai-chat', chunk({ content: 'a' }) + stop)
  await passes(t, 'openai-chat', STREAMS['openai-chat']?.body ?? '')
  const reason =
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
  await passes(t, 'anthropic-messages', `${STREAMS['anthropic-messages']?.body}${reason}`)
})

t.test('stream with an upstream error: reports the error once', async t => {
  const error =
    'data: {"error":{"message":"no","type":"server_error","param":null,"code":null}}\n\n'
  await passes(t, 'openai-chat', chunk({ content: 'a' }) + error)
  const namedError =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n'
  await passes(t, 'anthropic-messages', `${STREAMS['anthropic-messages']?.body}${namedError}`)
  const flat = 'event: error\ndata: {"type":"error","code":"server_error","message":"x"}\n\n'
  await passes(t, 'openai-responses', `${STREAMS['openai-responses']?.body}${flat}`)
  await passes(
    t,
    'google-gemini',
    `${STREAMS['google-gemini']?.body}data: {"error":{"code":500}}\r\n\r\n`,
  )
  const brokenOutput = await watch('openai-chat', chunk({ content: 'a' }) + error, { dies: true })
  t.equal(
    brokenOutput.text,
    chunk({ content: 'a' }) + error,
    'also if the connection fails after it',
  )
  t.equal(brokenOutput.isComplete, false)
  t.ok(brokenOutput.hasBroken)
  const streamWithEnd = `${chunk({ content: 'a' })}${error}data: [DONE]\n\n`
  t.ok((await watch('openai-chat', streamWithEnd)).hasBroken, 'regardless of what follows')
  t.notOk(
    (await watch('openai-chat', `${chunk({ content: '"error"' })}data: [DONE]\n\n`)).hasBroken,
  )
})

t.test('responses stream: every recorded last event ends it', async t => {
  for (const type of ['incomplete', 'failed', 'cancelled'])
    await passes(
      t,
      'openai-responses',
      `event: response.${type}\ndata: {"type":"response.${type}","response":{}}\n\n`,
    )
  await passes(t, 'openai-responses', 'data: {"type":"response.completed","response":{}}\n\n')
  await passes(t, 'google-gemini', 'data: {"promptFeedback":{"blockReason":"SAFETY"}}\r\n\r\n')
})

t.test('Gemini stream: usage may precede the last event', async t => {
  const text =
    'data: {"candidates":[{}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}\r\n\r\n' +
    'data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"trafficType":"ON_DEMAND"}}\r\n\r\n'
  t.match((await watch('google-gemini', text)).counts, { promptTokenCount: 3 })
})

const recorded = recordings()
t.test(
  'recorded streams: pass unchanged in chunks of every size',
  { skip: recorded === undefined && 'RECORDINGS is not set' },
  async t => {
    // The recording holds chat chunks under the name of another format, and no terminator of
    // either.
    const FOREIGN = new Set(['rec-0344'])
    let streams = 0
    for (const { id, format, stream, status, response_body } of recorded ?? []) {
      const name = recordedFormat(format)
      if (!stream || status !== 200 || !name || FOREIGN.has(id)) continue
      for (const piece of [response_body.length > 20_000 ? 61 : 1, 4_096]) {
        const { text, counts } = await watch(name, response_body, { piece })
        streams++
        if (text !== response_body) t.fail(`${id} in pieces of ${piece}`)
        if (!counts && /"(usage|usageMetadata)": ?\{/.test(response_body))
          t.fail(`${id}: no counts`)
      }
    }
    t.ok(streams > 240, `${streams} streams`)
  },
)
