/** Media by URL for targets that accept no URLs: fetched, typed, bounded, and refused with the path
 *  of the field. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { fetchMedia, type Send } from '../../../plugins/conversion/media-fetch.ts'
import { decodePrompt } from '../../helpers/formats/codec.ts'
import { fileReply, hostServing } from '../../helpers/formats/translation.ts'
import { errorFrom } from '../../helpers/gateway/fake-exchange.ts'

const A = 'https://a.example/x.mp4'
const requestWith = (...urls: string[]): Json => ({
  messages: [
    { role: 'user', content: urls.map(url => ({ type: 'image_url', image_url: { url } })) },
  ],
})
const fetchUrls = (host: Send, kinds: readonly string[], ...urls: string[]) =>
  fetchMedia(
    decodePrompt('openai-chat', requestWith(...urls)).prompt,
    { kinds },
    host,
    new AbortController().signal,
  )

t.test('media fetch: sends the fetched data inline', async t => {
  const host = hostServing({ [A]: () => fileReply('film', 'video/mp4; codecs=x') })
  const { turns } = await fetchUrls(host, ['video'], A)
  const source = { type: 'data', mime: 'video/mp4', data: Buffer.from('film').toString('base64') }
  t.match(turns[0]?.content, [{ kind: 'video', source }])
})
t.test('media fetch: a video served at an image URL becomes a video', async t => {
  const url = 'https://a.example/view?id=7'
  const { turns } = await fetchUrls(
    hostServing({ [url]: () => fileReply('film', 'video/webm') }),
    ['image'],
    url,
  )
  t.match(turns[0]?.content, [{ kind: 'video', source: { mime: 'video/webm' } }])
})
t.test(
  'media fetch: takes the MIME type from the file extension without a content type',
  async t => {
    const host = hostServing({ [A]: () => fileReply('x', 'application/octet-stream') })
    const { turns } = await fetchUrls(host, ['video'], A)
    t.match(turns[0]?.content, [{ source: { mime: 'video/mp4' } }])
  },
)
t.test('media fetch: recognises media by their bytes without a content type', async t => {
  const url = 'https://a.example/download?id=7'
  const mp4 = '\0\0\0\x18ftypmp42'
  for (const [type, bytes, kind, mime] of [
    ['application/octet-stream', mp4, 'video', 'video/mp4'],
    ['binary/octet-stream', 'RIFF0000AVI ', 'video', 'video/x-msvideo'],
    ['', 'GIF89a', 'image', 'image/gif'],
    ['application/octet-stream', 'no known start', 'image', 'image/jpeg'],
  ] as const) {
    const host = hostServing({ [url]: () => fileReply(bytes, type) })
    const { turns } = await fetchUrls(host, ['image'], url)
    t.match(turns[0]?.content, [{ kind, source: { mime } }], `${type} ${mime}`)
  }
})
t.test('media fetch: leaves URLs of kinds that the target fetches itself', async t => {
  const { turns } = await fetchUrls(hostServing({}), ['image'], A)
  t.match(turns[0]?.content, [{ source: { type: 'url', url: A } }])
})
t.test(
  'media fetch: unreachable, private, missing and too large media are a 400 with their path',
  async t => {
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
      [
        'large',
        hostServing({ ...ok, [A]: () => fileReply(large, 'video/mp4') }),
        'MEDIA_TOO_LARGE',
      ],
    ]
    for (const [name, host, code] of cases) {
      const fault = await errorFrom(() => fetchUrls(host, ['image', 'video'], other, A))
      t.match(fault, { code, status: 400, param }, name)
    }
  },
)
t.test('media fetch: all media of a request share one size limit', async t => {
  const half = 'x'.repeat(8 * 1024 * 1024)
  const B = 'https://a.example/y.mp4'
  const host = hostServing({
    [A]: () => fileReply(half, 'video/mp4'),
    [B]: () => fileReply(half, 'video/mp4'),
  })
  t.notOk(await errorFrom(() => fetchUrls(host, ['video'], A)))
  t.match(await errorFrom(() => fetchUrls(host, ['video'], A, B)), { code: 'MEDIA_TOO_LARGE' })
})
