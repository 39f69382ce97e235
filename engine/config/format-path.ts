/** Formats paths for messages. */
import { isAbsolute, relative, sep } from 'node:path'

/** Returns a path relative to `root`, absolute when outside of it. */
export const formatPath = (root: string, path: string): string => {
  const inside = relative(root, path)
  return /^\.\.([/\\]|$)/.test(inside) || isAbsolute(inside) ? path : inside.replaceAll(sep, '/')
}
