/** Media types by the first bytes of a file. */
import t from 'tap'
import { mediaTypeOf } from '../../../../plugins/formats/media/media-type.ts'

t.test('media types: follow from the first bytes', async t => {
  for (const [start, type, extension] of [
    ['\x89PNG\r\n\x1a\nxxxx', 'image/png', '.png'],
    ['\xff\xd8\xff\xe0', 'image/jpeg', '.jpg'],
    ['RIFF1234WEBPVP8 ', 'image/webp', '.webp'],
    ['RIFF1234WAVEfmt ', 'audio/wav', '.wav'],
    ['RIFF1234AVI ', 'video/x-msvideo', '.avi'],
    ['RIFF1234RMID', 'application/octet-stream', '.bin'],
    ['\0\0\0\x20ftypisom', 'video/mp4', '.mp4'],
    ['\0\0\0\x14ftypqt  ', 'video/quicktime', '.mov'],
    ['\0\0\0\x20ftypavif', 'image/avif', '.avif'],
    ['\x1a\x45\xdf\xa3', 'video/webm', '.webm'],
    ['ID3\x04', 'audio/mpeg', '.mp3'],
    ['\xff\xfb\x90', 'audio/mpeg', '.mp3'],
    ['<svg xmlns="…">', 'image/svg+xml', '.svg'],
    ['\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a <svg> -->\n<svg>', 'image/svg+xml', '.svg'],
    ['<!DOCTYPE html><html><svg>', 'application/octet-stream', '.bin'],
    ['<html><script>', 'application/octet-stream', '.bin'],
    ['\x89PN', 'application/octet-stream', '.bin'],
    ['', 'application/octet-stream', '.bin'],
  ] as const)
    t.same(mediaTypeOf(Buffer.from(start, 'latin1')), { type, extension }, JSON.stringify(start))
})
