/** Media named by address, for a target that takes none: fetched, told what they are, bounded, and refused by their place. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { fetched, type Send } from '../../../plugins/conversion/fetching.ts'
import { decodePrompt } from '../../helpers/codec.ts'
import { fileReply, hostServing } from '../../helpers/crossed.ts'
import { thrownBy } from '../../helpers/exchange.ts'

const A = 'https://a.example/x.mp4'
const asking = (...urls: string[]): Json => ({
  messages: [
    { role: 'user', content: urls.map(url => ({ type: 'image_url', image_url: { url } })) },
  ],
})
const fetchedFrom = (host: Send, kinds: readonly string[], ...urls: string[]) =>
  fetched(
    decodePrompt('openai-chat', asking(...urls)).prompt,
    kinds,
    host,
    new AbortController().signal,
  )

t.test('what an address serves is carried inside', async t => {
  const host = hostServing({ [A]: () => fileReply('film', 'video/mp4; codecs=x') })
  const { turns } = await fetchedFrom(host, ['video'], A)
  const source = { type: 'data', mime: 'video/mp4', data: Buffer.from('film').toString('base64') }
  t.match(turns[0]?.content, [{ kind: 'video', source }])
})
t.test('an image that turns out to be a film is a film', async t => {
  const url = 'https://a.example/view?id=7'
  const { turns } = await fetchedFrom(
    hostServing({ [url]: () => fileReply('film', 'video/webm') }),
    ['image'],
    url,
  )
  t.match(turns[0]?.content, [{ kind: 'video', source: { mime: 'video/webm' } }])
})
t.test('a server that does not say what it serves is believed by the name', async t => {
  const host = hostServing({ [A]: () => fileReply('x', 'application/octet-stream') })
  const { turns } = await fetchedFrom(host, ['video'], A)
  t.match(turns[0]?.content, [{ source: { mime: 'video/mp4' } }])
})
t.test('kinds that the target fetches itself are left alone', async t => {
  const { turns } = await fetchedFrom(hostServing({}), ['image'], A)
  t.match(turns[0]?.content, [{ source: { type: 'url', url: A } }])
})
t.test('unreachable, private, missing and too large are each a 400 at their place', async t => {
  const param = 'messages[0].content[1]'
  const other = 'https://a.example/ok.png'
  const ok = { [other]: () => fileReply('i', 'image/png') }
  const large = 'x'.repeat(15 * 1024 * 1024)
  const cases: readonly [string, Send, string][] = [
    ['private', hostServing(ok), 'MEDIA_UNREACHABLE'],
    [
      'missing',
      hostServing({ ...ok, [A]: () => fileReply('', 'text/html', 404) }),
      'MEDIA_UNREACHABLE',
    ],
    [
      'moved',
      hostServing({ ...ok, [A]: () => fileReply('', 'text/html', 302) }),
      'MEDIA_UNREACHABLE',
    ],
    ['large', hostServing({ ...ok, [A]: () => fileReply(large, 'video/mp4') }), 'MEDIA_TOO_LARGE'],
  ]
  for (const [name, host, code] of cases) {
    const fault = await thrownBy(() => fetchedFrom(host, ['image', 'video'], other, A))
    t.match(fault, { code, status: 400, param }, name)
  }
})
t.test('together they take no more than there is room for', async t => {
  const half = 'x'.repeat(8 * 1024 * 1024)
  const B = 'https://a.example/y.mp4'
  const host = hostServing({
    [A]: () => fileReply(half, 'video/mp4'),
    [B]: () => fileReply(half, 'video/mp4'),
  })
  t.notOk(await thrownBy(() => fetchedFrom(host, ['video'], A)))
  t.match(await thrownBy(() => fetchedFrom(host, ['video'], A, B)), { code: 'MEDIA_TOO_LARGE' })
})
