package demo

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
)

// picturePlate is a picture of a plate's size; each n is another landscape.
func picturePlate(n int) []byte { return picture(320, 200, n) }

// picture paints hills under a sky as a PNG: the same n and size, the same bytes.
func picture(width, height, n int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	phase := float64(n) * 1.7
	for x := range width {
		fx := float64(x) / float64(width)
		far := 0.5 + 0.12*math.Sin(6*fx+phase) + 0.03*math.Sin(29*fx+2*phase)
		near := 0.72 + 0.1*math.Sin(4*fx+3*phase)
		for y := range height {
			fy := float64(y) / float64(height)
			shade := func(r, g, b float64) color.RGBA {
				grain := float64((x*7919+y*104729+n*31)%13) - 6
				return color.RGBA{clamp(r + grain), clamp(g + grain), clamp(b + grain), 255}
			}
			switch {
			case fy > near:
				img.SetRGBA(x, y, shade(70+float64(n*11%60), 95, 60))
			case fy > far:
				img.SetRGBA(x, y, shade(120, 130+float64(n*7%40), 120))
			default:
				img.SetRGBA(x, y, shade(190-60*fy, 205-30*fy, 225-20*float64(n%3)))
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		panic(err) // an image in memory that is not empty always encodes
	}
	return out.Bytes()
}

func clamp(v float64) uint8 { return uint8(max(0, min(255, v))) }
