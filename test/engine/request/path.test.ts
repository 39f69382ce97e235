/** Canonical paths, spelling by spelling. */
import t from 'tap'
import { readTarget } from '../../../engine/request/path.ts'

const HOST = 'api.test:80'
const REFUSED = undefined

/** Targets with the path that is routed and forwarded; undefined for 400. */
const SPELLINGS: Readonly<Record<string, string | undefined>> = {
  // Canonical already.
  '/': '/',
  '/v1/x': '/v1/x',
  '/v1/x/': '/v1/x/',
  '/v1beta/models/a-1.5:generateContent': '/v1beta/models/a-1.5:generateContent',
  "/!$&'()*+,=:@~-._": "/!$&'()*+,=:@~-._",
  '/a.b/c..d/...': '/a.b/c..d/...',
  '/.well-known/x': '/.well-known/x',
  '/..a/.b': '/..a/.b',
  // Escaped unreserved characters are decoded.
  '/%61': '/a',
  '/%41%7A': '/Az',
  '/%76%31/%78': '/v1/x',
  '/a%2Db%5Fc%7Ed': '/a-b_c~d',
  '/a%2Eb': '/a.b',
  '/%31%30': '/10',
  // Other escapes are written in capitals.
  '/%c3%a9': '/%C3%A9',
  '/%C3%a9': '/%C3%A9',
  '/a%20b': '/a%20b',
  '/a%22b%3c%3E': '/a%22b%3C%3E',
  '/a%3ab': '/a%3Ab',
  '/a%40b': '/a%40b',
  '/%e2%82%ac': '/%E2%82%AC',
  // Slashes collapse.
  '//': '/',
  '//v1//x': '/v1/x',
  '/v1/x//': '/v1/x/',
  '///a': '/a',
  // Dot segments.
  '/.': REFUSED,
  '/..': REFUSED,
  '/a/.': REFUSED,
  '/a/..': REFUSED,
  '/a/./b': REFUSED,
  '/a/../b': REFUSED,
  '/../a': REFUSED,
  '/a/%2e/b': REFUSED,
  '/a/%2e%2e/b': REFUSED,
  '/a/%2E./b': REFUSED,
  '/a/.%2e': REFUSED,
  '/a//..//b': REFUSED,
  '/%2e%2e/a': REFUSED,
  // Escaped separators.
  '/a%2fb': REFUSED,
  '/a%2Fb': REFUSED,
  '/a%5cb': REFUSED,
  '/a%5Cb': REFUSED,
  '/a%23b': REFUSED,
  '/a%3bb': REFUSED,
  '/a%3Fb': REFUSED,
  '/a\\b': REFUSED,
  '/a;b=1': REFUSED,
  '/a#b': REFUSED,
  '/..;/a': REFUSED,
  '/..%2fa': REFUSED,
  // Escapes of escapes, and invalid escapes.
  '/a%25': REFUSED,
  '/a%252e': REFUSED,
  '/a%252fb': REFUSED,
  '/a%25%32%66b': REFUSED,
  '/a%': REFUSED,
  '/a%2': REFUSED,
  '/a%zz': REFUSED,
  '/a%u0041': REFUSED,
  '/a% 2f': REFUSED,
  // Not UTF-8, overlong, half a character.
  '/%c0%af': REFUSED,
  '/%c0%ae%c0%ae/a': REFUSED,
  '/%e0%80%af': REFUSED,
  '/%ff': REFUSED,
  '/%c3': REFUSED,
  '/%ed%a0%80': REFUSED,
  // Control characters, and characters that a path must escape.
  '/a%00': REFUSED,
  '/a%0d%0a': REFUSED,
  '/a%09': REFUSED,
  '/a%7f': REFUSED,
  '/a b': REFUSED,
  '/a"b': REFUSED,
  '/a<b>': REFUSED,
  '/a|b': REFUSED,
  '/a^b`': REFUSED,
  '/a{b}': REFUSED,
  '/a[0]': REFUSED,
  '/\u00e9': REFUSED,
  '/\x7f': REFUSED,
  '/\x00': REFUSED,
  // No path.
  '': REFUSED,
  a: REFUSED,
  '*': REFUSED,
  'a/b': REFUSED,
  '?a=1': REFUSED,
  // In absolute form (RFC 9112 §3.2.2).
  'http://api.test:80/v1/x': '/v1/x',
  'https://API.TEST:80/v1/x': '/v1/x',
  'HTTP://api.test:80//v1': '/v1',
  'http://api.test:80': '/',
  'http://api.test:80/a/../b': REFUSED,
  'http://api.test:80/%61': '/a',
  'http://api.test:80#a': REFUSED,
  'http://api.test/v1/x': REFUSED,
  'http://other.test:80/v1/x': REFUSED,
  'http://user@api.test:80/v1/x': REFUSED,
  'http:///v1/x': REFUSED,
  'http:/v1/x': REFUSED,
  'ftp://api.test:80/v1/x': REFUSED,
  'api.test:80': REFUSED,
}

const pathOf = (target: string): string | undefined => {
  try {
    return readTarget(target, HOST).path
  } catch (error) {
    if ((error as { status?: number }).status === 400) return REFUSED
    throw error
  }
}

for (const [target, canonical] of Object.entries(SPELLINGS))
  t.test(`path: ${JSON.stringify(target)} is ${canonical ?? 'refused'}`, async t =>
    t.equal(pathOf(target), canonical),
  )

t.test('path: a refusal has its reason', async t => {
  const expectRefusal = (target: string, message: string, code = 'PATH_REFUSED'): void => {
    t.throws(() => readTarget(target, HOST), { code, status: 400, message })
  }
  expectRefusal('/a;b', 'The path is not acceptable: it holds "#", ";" or "\\".')
  expectRefusal('/a/../b', 'The path is not acceptable: it holds "." or ".." segments.')
  expectRefusal('/a%2fb', 'The path is not acceptable: it holds %2f.')
  expectRefusal('/a%', 'The path is not acceptable: a "%" that starts no escape.')
  expectRefusal('/a b', 'The path is not acceptable: it holds characters that a path must escape.')
  expectRefusal('/%ff', 'The path is not acceptable: its escapes are not UTF-8.')
  expectRefusal('a', 'The path is not acceptable: it does not begin with "/".')
  expectRefusal('/?a#b', 'The path is not acceptable: "#" or "\\" in the query.')
  const mismatch = 'The request target and the Host header name different hosts.'
  expectRefusal('http://b/', mismatch, 'AUTHORITY_MISMATCH')
  t.throws(() => readTarget('http://b/', undefined), { code: 'AUTHORITY_MISMATCH' }, 'no host')
})

t.test('path: the query is passed on unchanged', async t => {
  const queries = ['a=1&a=2', 'u=https://x/y?z=1', 'a=%2f..%2f', '../../x', 'a;b', '%', '?', 'a=é']
  for (const search of queries) t.same(readTarget(`/a?${search}`, HOST), { path: '/a', search })
  t.same(readTarget('/a?', HOST), { path: '/a', search: '' })
  t.same(readTarget(`http://${HOST}?a=1`, HOST), { path: '/', search: 'a=1' })
  for (const search of ['a#b', 'a\\b', '#'])
    t.throws(() => readTarget(`/a?${search}`, HOST), { code: 'PATH_REFUSED' }, search)
})
