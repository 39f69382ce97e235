/** The length of a transcript, as each form shows it. */
import t from 'tap'
import { Transcript } from '../../../../plugins/formats/openai-transcription/transcript.ts'

const read = (type: string, ...texts: string[]): Transcript => {
  const transcript = new Transcript(type)
  for (const text of texts) transcript.observe(Buffer.from(text))
  return transcript
}
const event = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`

t.test('transcript: events have text, and the end of the last segment', async t => {
  const { bytes, seconds } = read(
    'text/event-stream',
    event({ type: 'transcript.text.delta', delta: 'abc' }),
    event({ type: 'transcript.text.delta', delta: 'é' }),
    event({ type: 'transcript.text.segment', end: 7.5 }),
    event({ type: 'transcript.text.segment', end: 3 }),
  )
  t.equal(bytes, 5)
  t.equal(seconds, 7.5)
})

t.test('transcript: subtitles have the end of their last cue, before any text nothing', async t => {
  const cue = '1\n00:00:01,000 --> 00:01:02,500\nHello\n'
  t.equal(read('text/plain', cue.slice(0, 20), cue.slice(20)).seconds, 62.5)
  t.equal(read('text/plain').seconds, undefined)
  t.ok((read('text/plain', 'x'.repeat(100)).seconds ?? 0) > 0)
})
